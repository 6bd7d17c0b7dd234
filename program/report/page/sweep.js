// A sweep: the same policies under many settings, with a table and charts for each cluster and workload.
'use strict';
const policies = [...new Set(data.replays.map(replay => replay.policy))];
firstLines(policies, data.compare.map(name => policies.indexOf(name)).filter(i => i >= 0));
const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;
const number = value => +value.toPrecision(6);
const shown = ['average_jct_h', 'p99_jct_h', 'makespan_h', 'restarts_per_job', 'utilisation']
  .filter(key => data.replays.some(({ figures }) => figures[key] != null));
const drawn = ['average_jct_h', 'p99_jct_h', 'restarts_per_job'].filter(key => shown.includes(key));
const columns = figures.filter(({ key }) => shown.includes(key));

// By cluster and workload, then by load and policy: means over the seeds.
const groups = new Map();
for (const replay of data.replays) {
  const key = JSON.stringify([replay.cluster, replay.workload]);
  groups.set(key, [...groups.get(key) || [], replay]);
}
const titleOf = ({ cluster, workload }) =>
  [cluster && `Cluster ${cluster}`, workload && `${cluster ? 'w' : 'W'}orkload ${workload}`].filter(Boolean).join(', ') || 'All settings';
const rowsOf = replays => {
  const rows = [];
  for (const load of [...new Set(replays.map(replay => replay.load))].sort((a, b) => a - b))
    for (const policy of policies) {
      const of = replays.filter(replay => replay.load === load && replay.policy === policy);
      if (!of.length) continue;
      const row = { policy, load, seeds: of.length, figures: {}, least: {}, most: {} };
      for (const { key } of [...columns, { key: 'completed' }]) {
        const values = of.map(replay => replay.figures[key]).filter(value => value != null);
        if (!values.length) continue;
        row.figures[key] = mean(values);
        [row.least[key], row.most[key]] = [Math.min(...values), Math.max(...values)];
      }
      rows.push(row);
    }
  return rows;
};

const showTable = (place, title, rows) => {
  const body = table(place, `${title}: means over the seeds`, ['Policy', 'Load', ...columns.map(column => column.name), 'Seeds']);
  for (const row of rows) {
    const node = add(body, 'tr'), beside = rows.filter(other => other.load === row.load).map(other => other.figures);
    add(node, 'th', { scope: 'row' }, row.policy);
    add(node, 'td', {}, String(row.load));
    for (const column of columns) {
      const text = figureText(column, row.figures);
      add(node, 'td', { className: row.figures[column.key] != null && text === bestText(column, beside) ? 'best' : '' }, text);
    }
    add(node, 'td', {}, String(row.seeds));
  }
};
const showCharts = (place, rows) => {
  const pair = add(place, 'div', { className: 'charts' });
  const loads = [...new Set(rows.map(row => row.load))].filter(load => load > 0);
  if (!loads.length) return;
  const least = Math.min(...loads), most = Math.max(...loads);
  for (const column of figures.filter(({ key }) => drawn.includes(key))) {
    const of = policies.map(policy => ({ name: policy, points: rows
      .filter(row => row.policy === policy && row.load > 0 && row.figures[column.key] != null)
      .map(row => ({ x: row.load, y: row.figures[column.key], least: row.least[column.key], most: row.most[column.key] })) }));
    if (!of.some(line => line.points.length)) continue;
    const bars = { id: 'bars', beforeDatasetsDraw({ ctx, scales: { x, y } }) {
      ctx.save();
      ctx.lineWidth = 5;
      ctx.globalAlpha = .35;
      of.forEach((line, i) => {
        if (slotOf(i) < 0) return;
        ctx.strokeStyle = lineColour(i);
        for (const point of line.points) {
          ctx.beginPath();
          ctx.moveTo(x.getPixelForValue(point.x), y.getPixelForValue(point.least));
          ctx.lineTo(x.getPixelForValue(point.x), y.getPixelForValue(point.most));
          ctx.stroke();
        }
      });
      ctx.restore();
    } };
    lineChart(pair, { title: column.name, unit: 'over load', of, steps: false, plugins: [bars],
      x: { type: 'logarithmic', min: least / 1.1, max: most * 1.1, grid, title: axisTitle('load'), ticks: { ...ticks, callback: number },
        afterBuildTicks: scale => { scale.ticks = loads.map(value => ({ value })); } },
      y: {}, say: { x: load => `load ${load}`, y: value => value.toFixed(column.digits) } });
  }
};

// In how many settings (cluster, workload, load and seeds) the jobs of a policy complete soonest on average.
const showWins = () => {
  const settings = new Map();
  for (const replay of data.replays) {
    if (replay.figures.average_jct_h == null) continue;
    const { policy, figures, ...setting } = replay;
    const key = JSON.stringify(setting);
    settings.set(key, [...settings.get(key) || [], replay]);
  }
  const full = replays => Math.max(...replays.map(({ figures }) => figures.completed ?? 0));
  const wins = new Map(policies.map(policy => [policy, 0]));
  let compared = 0;
  for (const replays of settings.values()) {
    const whole = replays.filter(({ figures }) => figures.completed == null || figures.completed === full(replays));
    if (new Set(replays.map(({ policy }) => policy)).size < 2) continue;
    ++compared;
    const best = Math.min(...whole.map(({ figures }) => figures.average_jct_h));
    for (const { policy, figures } of whole) if (figures.average_jct_h === best) wins.set(policy, wins.get(policy) + 1);
  }
  if (!compared) return;
  const said = [...wins].sort((a, b) => b[1] - a[1]).map(([policy, won]) => `${policy} in ${won}`).join(', ');
  add(main, 'p', { className: 'wins' }, `Of ${compared} settings (cluster, workload, load and seeds), jobs complete soonest on average under ` +
    `${said}.`);
};

// The first table stands before the legend: figures come first on a narrow screen, too.
const all = [...groups.values()].map(replays => ({ title: titleOf(replays[0]), rows: rowsOf(replays) }));
if (data.warning) add(main, 'p', { className: 'note' }, data.warning);
showWins();
explainPolicies(main, policies);
const sections = all.map(({ title, rows }, i) => {
  const place = section(`setting${i + 1}`, title);
  showTable(place, title, rows);
  if (i === 0) {
    add(place, 'p', { className: 'hint' }, 'Lines join the means over the seeds, bars reach from the least to the most; the best ' +
      'of each load is marked. Buttons give up to five policies a colour.');
    addLegend('Policies');
  }
  showCharts(i === 0 ? add(main, 'div') : place, rows);
  return place;
});
const downloads = add(main, 'p', { className: 'downloads' }, 'All figures: ');
download(downloads, 'results.csv', () => {
  const keys = [...new Set(data.replays.flatMap(replay => Object.keys(replay.figures)))];
  const axes = Object.keys(data.replays[0]).filter(key => key !== 'figures');
  return [[...axes, ...keys], ...data.replays.map(replay => [...axes.map(axis => replay[axis]), ...keys.map(key => replay.figures[key])])];
});
if (sections.length > 1) contents(sections[0].querySelector('.wide'), ...sections);
