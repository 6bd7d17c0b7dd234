// A replay under several policies.
'use strict';
const { policies, jobs, applications } = data;
const names = policies.map(policy => policy.name);
const hoursAt = quanta => quanta * data.quantum_s / 3600;
firstLines(names, data.compare || []);

// ---- Figures: the average completion time first.
const rows = policies.map(policy => policy.figures);
const columns = figuresOf(rows);
const figuresTable = (caption, columns) => {
  const body = table(main, caption, ['Policy', ...columns.map(column => column.name)]);
  const best = columns.map(column => rows.length > 1 ? bestText(column, rows) : null);
  for (const policy of policies) {
    const row = add(body, 'tr');
    add(row, 'th', { scope: 'row' }, policy.name);
    columns.forEach((column, i) => {
      const text = figureText(column, policy.figures);
      add(row, 'td', { className: text === best[i] && policy.figures[column.key] != null ? 'best' : '' }, text);
    });
  }
};
figuresTable('Figures of every policy', columns.slice(0, 10));
if (data.incomplete) add(main, 'p', { className: 'note' }, data.incomplete);
const never = jobs.names.filter((name, job) => policies.length && policies.every(policy => policy.hours[job] == null));
if (never.length)
  add(main, 'p', { className: 'note' }, `${never.length === 1 ? 'This job completes' : 'These jobs complete'} under no policy: ` +
    never.slice(0, 10).join(', ') + (never.length > 10 ? ` and ${never.length - 10} more.` : '.'));
add(main, 'p', {}, data.summary);
const made = add(main, 'p', { className: 'hint' }, explanation + (rows.length > 1 ?
  ' The best of each column is marked, where more or less of it is better.' : '') + ' Made by ');
if (data.command) add(made, 'code', {}, data.command);
made.append(`${data.command ? ', ' : ''}seed ${data.seed}, goodput ${data.version}.`);
explainPolicies(main, names);
const downloads = add(main, 'p', { className: 'downloads' }, 'To download: ');
download(downloads, 'figures.csv', () => [['policy', ...columns.map(column => column.key)],
  ...policies.map(policy => [policy.name, ...columns.map(column => policy.figures[column.key])])]);
downloads.append(' ');
download(downloads, 'jobs.csv', () => [['policy', 'job', 'application', 'submitted_h', 'completion_h', 'restarts', 'gpu_h'],
  ...policies.flatMap(policy => jobs.names.map((name, job) => [policy.name, name, applications[jobs.application[job]],
    jobs.submitted_h[job], policy.hours[job], policy.restarts[job], policy.gpu_hours[job]]))]);

figuresTable('Further figures', columns.slice(10));

// ---- The part of the time that all charts show. At first it ends where one policy alone has jobs left.
let view = [0, data.shown_h];
const timeCharts = [], timeTools = [];
const showTime = (begin, end) => {
  const size = Math.min(Math.max(end - begin, 10 * data.quantum_s / 3600), data.end_h);
  begin = Math.min(Math.max(begin, 0), data.end_h - size);
  view = [begin, begin + size];
  for (const chart of timeCharts) {
    [chart.options.scales.x.min, chart.options.scales.x.max] = view;
    chart.update('none');
  }
  for (const update of timeTools) update();
};
addLegend('Policies');
const tools = add(legend, 'div', { className: 'tools', role: 'group', ariaLabel: 'Part of the time that charts show' });
const tool = (text, label, action, useful) => {
  const button = add(tools, 'button', { type: 'button', ariaLabel: label, title: label, onclick: action }, text);
  timeTools.push(() => { button.disabled = !useful(); });
};
const size = () => view[1] - view[0];
tool('◀', 'earlier', () => showTime(view[0] - size() / 2, view[1] - size() / 2), () => view[0] > 0);
tool('▶', 'later', () => showTime(view[0] + size() / 2, view[1] + size() / 2), () => view[1] < data.end_h);
tool('+', 'a shorter time, in more detail', () => showTime(view[0] + size() / 4, view[1] - size() / 4), () => true);
tool('−', 'a longer time', () => showTime(view[0] - size() / 2, view[1] + size() / 2), () => size() < data.end_h);
tool('whole time', 'the whole time', () => showTime(0, data.end_h), () => size() < data.end_h);
const timeAxis = () => ({ type: 'linear', min: view[0], max: view[1], grid, ticks: { ...ticks, includeBounds: false },
  title: axisTitle('hours since the start of the trace') });
// Drag across a chart to see that part of the time; a double click shows what was shown at first.
const overTime = chart => {
  const { canvas } = chart;
  let from = null;
  const clamp = x => Math.min(Math.max(x, chart.chartArea.left), chart.chartArea.right);
  canvas.addEventListener('pointerdown', event => {
    if (event.button !== 0 || event.pointerType === 'touch') return;
    from = clamp(event.offsetX);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    if (from == null) return;
    const to = clamp(event.offsetX);
    chart.dragged = Math.abs(to - from) < 4 ? null : [Math.min(from, to), Math.max(from, to)];
    chart.draw();
  });
  canvas.addEventListener('pointerup', () => {
    const dragged = chart.dragged;
    chart.dragged = from = null;
    if (dragged) showTime(...dragged.map(x => chart.scales.x.getValueForPixel(x)));
  });
  canvas.addEventListener('dblclick', () => showTime(0, data.shown_h));
  timeCharts.push(chart);
  return chart;
};

const pointsOf = line => {
  const points = [];
  for (let i = 0; i < line.points.length; i += 2) points.push({ x: line.points[i], y: line.points[i + 1] });
  if (points.length) points.push({ x: line.end, y: points[points.length - 1].y });
  return points;
};
const drawn = (parent, name, more = {}) => {
  const chart = typeof name === 'string' ? data.charts.find(one => one.name === name) : name;
  const percent = chart.y_title.startsWith('%');
  const x = chart.over_time ? timeAxis() : chart.logarithmic ? durationAxis(chart.x_least, chart.x_most, chart.x_title) :
    { type: 'linear', min: chart.x_least, max: chart.x_most, grid, ticks: { ...ticks, precision: 0 }, title: axisTitle(chart.x_title) };
  const result = lineChart(parent, { title: chart.title, unit: chart.y_title, x,
    of: chart.lines.map(line => ({ name: line.name, points: pointsOf(line) })),
    y: { suggestedMax: chart.y_most, ...more.y, ticks: { ...ticks, includeBounds: false,
      callback: value => percent ? value + ' %' : +value.toPrecision(4) } },
    say: { x: h => chart.over_time ? `after ${h.toFixed(2)} h` : chart.logarithmic ? `within ${span(h)}` : `at most ${Math.floor(h)} restarts`,
      y: y => percent ? y.toFixed(1) + ' %' : +y.toPrecision(4) }, ...more.look });
  return chart.over_time ? overTime(result) : result;
};

// ---- Completion times.
const times = section('times', 'Completion times');
const someComplete = policies.some(policy => policy.hours.some(h => h != null));
if (!someComplete) add(times, 'p', {}, 'No job was completed.');
else {
  drawn(times, 'completions', { look: { tall: true } });
  const quantile = (values, part) => values[Math.min(Math.floor(part * values.length), values.length - 1)];
  const present = applications.map((_, a) => a).filter(a => jobs.application.includes(a));
  const counts = present.map(a => jobs.application.filter(of => of === a).length);
  const body = table(times, 'Median completion time by application in hours, below it the middle half of its jobs',
    ['Policy', ...present.map((a, i) => `${applications[a]}, ${counts[i]} ${counts[i] === 1 ? 'job' : 'jobs'}`)]);
  for (const policy of policies) {
    const row = add(body, 'tr');
    add(row, 'th', { scope: 'row' }, policy.name);
    present.forEach((a, i) => {
      const hours = policy.hours.filter((h, job) => h != null && jobs.application[job] === a).sort((x, y) => x - y);
      const cell = add(row, 'td', {}, hours.length ? quantile(hours, .5).toFixed(2) : 'none');
      if (hours.length) add(cell, 'small', {}, `${quantile(hours, .25).toFixed(2)} to ${quantile(hours, .75).toFixed(2)}` +
        (hours.length < counts[i] ? `, ${counts[i] - hours.length} left` : ''));
    });
  }
}

// ---- Load and restarts.
const load = section('load', 'Load and restarts over time');
if (data.shown_h < data.end_h) add(load, 'p', { className: 'note' },
  `Time axes end after ${data.shown_h.toFixed(1)} hours, when one policy alone has jobs left; it goes on to ` +
  `${data.end_h.toFixed(1)} hours. “Whole time” above shows the rest.`);
add(load, 'p', { className: 'hint' }, 'Drag across a time axis to see a part of it; all charts follow. A double click goes ' +
  'back. Buttons above give up to five policies a colour.');
const loadPair = add(load, 'div', { className: 'pair' });
for (const name of ['waiting', 'held', 'restarts', 'restarts-by-job']) drawn(loadPair, name);

// ---- Which job held which GPUs when: one lane per GPU type, one block per holding without a change.
const colourOf = application => colour('--a' + Math.min(application, 7));
let seen = null;
const see = job => {
  seen = job === seen ? null : job;
  for (const row of document.querySelectorAll('[data-job]')) row.classList.toggle('seen', +row.dataset.job === seen);
  repaint();
};
const allGpus = data.gpu_types.reduce((sum, type) => sum + type.gpus, 0);
const gap = Math.max(allGpus * .04, 1);
const lanes = [];
for (const [type, { name, gpus }] of data.gpu_types.entries()) {
  const last = lanes[lanes.length - 1];
  if (gpus) lanes.push({ type, name, gpus, top: last ? last.top + last.gpus + gap : 0 });
}
const height = lanes.length ? lanes[lanes.length - 1].top + lanes[lanes.length - 1].gpus : 1;
const blocksOf = (policy, type) => {
  const flat = policies[policy].lanes[type].blocks, blocks = [];
  for (let i = 0; i < flat.length; i += 5) {
    const [job, begin, end, first, gpus] = flat.slice(i, i + 5);
    blocks.push({ job, begin, end, first, gpus });
  }
  return blocks;
};
const pairsOf = flat => flat.filter((_, i) => i % 2 === 0).map((first, i) => [first, flat[2 * i + 1]]);
const gpuChart = (parent, policy) => {
  const held = lanes.map(lane => ({ ...lane, blocks: blocksOf(policy, lane.type),
    capacity: pairsOf(policies[policy].lanes[lane.type].capacity) }));
  const starts = pairsOf(policies[policy].restart_times);
  const paint = { id: 'gpus', beforeDatasetsDraw({ ctx, chartArea: area, scales: { x, y } }) {
    const at = quanta => x.getPixelForValue(hoursAt(quanta)), row = value => y.getPixelForValue(value);
    const unit = row(1) - row(0), [from, to] = view.map(h => 3600 * h / data.quantum_s);
    ctx.save();
    ctx.font = `12px ${Chart.defaults.font.family}`;
    for (const lane of held) {
      const middle = row(lane.top + lane.gpus / 2), shortName = lane.name.length > 10 ? lane.name.slice(0, 9) + '…' : lane.name;
      ctx.textAlign = 'right';
      ctx.fillStyle = colour('--ink');
      ctx.fillText(shortName, area.left - 8, middle - 2);
      ctx.fillStyle = colour('--pale');
      ctx.fillText(`${lane.gpus} GPU${lane.gpus === 1 ? '' : 's'}`, area.left - 8, middle + 13);
    }
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    const paper = colour('--paper'), ink = colour('--ink');
    for (const lane of held) {
      ctx.fillStyle = colour('--lane');
      ctx.fillRect(area.left, row(lane.top), area.width, lane.gpus * unit);
      lane.capacity.forEach(([since, gpus], i) => {
        const until = i + 1 < lane.capacity.length ? at(lane.capacity[i + 1][0]) : area.right;
        if (gpus === lane.gpus) return;
        ctx.fillStyle = paper;
        ctx.fillRect(at(since), row(lane.top), until - at(since), (lane.gpus - gpus) * unit);
        ctx.fillStyle = ink;
        ctx.fillRect(at(since), row(lane.top + lane.gpus - gpus) - .7, until - at(since), 1.4);
      });
      for (const block of lane.blocks) {
        if (block.end < from || block.begin > to) continue;
        const left = at(block.begin), top = row(lane.top + lane.gpus - block.first - block.gpus);
        ctx.globalAlpha = seen == null || seen === block.job ? 1 : .18;
        ctx.fillStyle = colourOf(jobs.application[block.job]);
        ctx.fillRect(left, top, at(block.end) - left, block.gpus * unit);
        if (unit >= 2 && at(block.end) - left > 3) {
          ctx.strokeStyle = paper;
          ctx.lineWidth = .7;
          ctx.strokeRect(left, top, at(block.end) - left, block.gpus * unit);
        }
      }
      ctx.globalAlpha = starts.length > 300 ? .4 : .8;
      ctx.fillStyle = ink;
      for (const [job, quantum] of starts) {
        if (quantum < from || quantum > to || seen != null && seen !== job) continue;
        for (const block of lane.blocks)
          if (block.job === job && block.begin <= quantum && quantum < block.end)
            ctx.fillRect(at(quantum), row(lane.top + lane.gpus - block.first - block.gpus), 1, .4 * block.gpus * unit);
      }
      ctx.globalAlpha = 1;
    }
    ctx.restore();
  } };
  const found = (chart, px, py) => {
    const time = chart.scales.x.getValueForPixel(px) * 3600 / data.quantum_s, gpu = chart.scales.y.getValueForPixel(py);
    for (const lane of held)
      for (const block of lane.blocks) {
        const top = lane.top + lane.gpus - block.first - block.gpus;
        if (time >= block.begin && time < block.end && gpu >= top && gpu < top + block.gpus) return { lane, block };
      }
    return null;
  };
  const text = (chart, px, py) => {
    const hit = found(chart, px, py);
    if (!hit) return '';
    const { lane, block: { job, begin, end } } = hit, { hours, restarts } = policies[policy];
    const gpus = lane.blocks.filter(block => block.job === job && block.begin === begin).reduce((sum, block) => sum + block.gpus, 0);
    return `${jobs.names[job]} (${applications[jobs.application[job]]})\n${gpus} ${lane.name} GPU${gpus === 1 ? '' : 's'} ` +
      `from ${hoursAt(begin).toFixed(2)} to ${hoursAt(end).toFixed(2)} h\nsubmitted at ${jobs.submitted_h[job].toFixed(2)} h, ` +
      (hours[job] == null ? 'not completed' : `completed after ${span(hours[job])}`) +
      `, ${restarts[job]} restart${restarts[job] === 1 ? '' : 's'}`;
  };
  const chart = addChart(parent, policies[policy].name, '', `GPUs that each job held over time under ${policies[policy].name}`,
    { type: 'scatter', data: { datasets: [] }, plugins: [paint, readingLine],
      options: { scales: { x: timeAxis(), y: { min: 0, max: height, reverse: true, grid: { display: false }, ticks: { display: false },
        afterFit: scale => { scale.width = 84; } } } } }, text, { tall: true });
  chart.canvas.addEventListener('click', event => {
    const hit = found(chart, event.offsetX, event.offsetY);
    if (hit) see(hit.block.job);
    else if (seen != null) see(seen);
  });
  return overTime(chart);
};

const two = policies.length > 1;
const held = section('gpus', two ? 'Side by side: who held which GPUs when' : 'Who held which GPUs when');
const choices = (two ? [0, 1] : [0]).map(side => {
  const select = add(null, 'select', { ariaLabel: side ? 'second policy' : 'first policy' });
  names.forEach((name, p) => add(select, 'option', { value: p, selected: p === data.compare[side] }, name));
  return select;
});
if (two) add(held, 'p', {}, choices[0], ' and ', choices[1]);
add(held, 'p', { className: 'hint' }, 'Every block is GPUs that a job held, coloured by application; dark marks are restarts. ' +
  'Point at a block to see whose it is, click to keep that job in view.');
const apps = add(held, 'ul', { className: 'names', ariaLabel: 'Colours of applications' });
for (const [a, name] of applications.entries()) {
  const item = add(apps, 'li');
  add(item, 'i').style.background = `var(--a${Math.min(a, 7)})`;
  item.append(name);
}
const sides = add(held, 'div'), prices = add(held, 'div', { className: two ? 'pair' : '' });
const differences = add(held, 'div', { className: 'pair narrow' });
const priceChart = (parent, policy) => {
  const chart = policies[policy].prices;
  if (!chart.lines.length) {
    const figure = add(parent, 'figure');
    add(figure, 'figcaption', {}, chart.title);
    return add(figure, 'p', { className: 'hint' }, 'No price was ever above 0: the policy works without them, or GPUs were never short.');
  }
  const cut = Math.max(...chart.lines.flatMap(line => pointsOf(line).map(point => point.y)));
  const all = drawn(parent, chart, { y: { max: chart.y_most }, look: { own: true } });
  const key = add(all.canvas.closest('figure'), 'ul', { className: 'names' });
  for (const [i, line] of chart.lines.entries()) {
    const item = add(key, 'li');
    item.append(sample(i % most), line.name);
  }
  if (cut > 1.01 * chart.y_most) add(key, 'li', { className: 'hint' }, `peaks, cut off here, reach ${+cut.toPrecision(3)}`);
};
const scatter = (parent, first, second) => {
  const both = jobs.names.map((_, job) => ({ job, x: Math.max(first.hours[job] ?? 0, 1 / 3600), y: Math.max(second.hours[job] ?? 0, 1 / 3600) }))
    .filter(({ job }) => first.hours[job] != null && second.hours[job] != null);
  if (!both.length) return;
  const values = both.flatMap(({ x, y }) => [x, y]);
  const min = values.reduce((a, b) => Math.min(a, b)) / 1.2, max = values.reduce((a, b) => Math.max(a, b)) * 1.2;
  const nearest = (chart, px, py) => both.map(point => ({ point, far: Math.hypot(chart.scales.x.getPixelForValue(point.x) - px,
    chart.scales.y.getPixelForValue(point.y) - py) })).reduce((a, b) => b.far < a.far ? b : a);
  const chart = addChart(parent, 'Completion time of every job', '', `Completion times of jobs under ${first.name} and ${second.name}`,
    { type: 'scatter', plugins: [], data: { datasets: [
      { data: both, pointRadius: both.length > 300 ? 2.5 : 3.5, pointBorderWidth: 0,
        pointBackgroundColor: ({ dataIndex: i }) => both[i] && (seen == null || seen === both[i].job) ?
          colourOf(jobs.application[both[i].job]) : colour('--line') },
      { data: [{ x: min, y: min }, { x: max, y: max }], type: 'line', pointRadius: 0, borderWidth: 1, borderDash: [4, 3],
        borderColor: () => colour('--pale') }] },
      options: { parsing: false, scales: { x: durationAxis(min, max, `under ${first.name}`), y: durationAxis(min, max, `under ${second.name}`) } } },
    (chart, px, py) => {
      const { point: { job }, far } = nearest(chart, px, py);
      return far > 12 ? '' : `${jobs.names[job]} (${applications[jobs.application[job]]})\n${span(first.hours[job])} under ${first.name}\n` +
        `${span(second.hours[job])} under ${second.name}`;
    }, { tall: true });
  chart.canvas.addEventListener('click', event => {
    const { point, far } = nearest(chart, event.offsetX, event.offsetY);
    if (far <= 12) see(point.job);
  });
};
const mostDifferent = (parent, first, second) => {
  const far = job => first.hours[job] == null || second.hours[job] == null ? Infinity : Math.abs(second.hours[job] - first.hours[job]);
  const different = jobs.names.map((_, job) => job)
    .filter(job => (first.hours[job] != null || second.hours[job] != null) && far(job) > 0)
    .sort((a, b) => far(b) - far(a) || a - b).slice(0, 12);
  const place = add(parent, 'div');
  add(place, 'h3', {}, 'Jobs that differ most');
  if (!different.length) return add(place, 'p', {}, 'Every job takes as long under both.');
  const body = table(place, 'Completion times in hours; a click on a job keeps it in view',
    ['Job', `${first.name}, h`, `${second.name}, h`, 'Difference, h', 'Ratio', 'Submitted, h']);
  const time = h => h == null ? 'not completed' : h.toFixed(2);
  for (const job of different) {
    const row = add(body, 'tr'), a = first.hours[job], b = second.hours[job], known = a != null && b != null;
    row.dataset.job = job;
    add(add(row, 'th', { scope: 'row' }), 'button', { type: 'button', onclick: () => see(job) }, jobs.names[job]);
    for (const text of [time(a), time(b), known ? (b > a ? '+' : '') + (b - a).toFixed(2) : '', known && a > 0 ? (b / a).toFixed(2) : '',
      jobs.submitted_h[job].toFixed(2)]) add(row, 'td', {}, text);
  }
};
const compare = () => {
  const shown = choices.map(choice => +choice.value);
  for (const place of [sides, prices, differences]) {
    for (const canvas of place.querySelectorAll('canvas')) {
      const chart = Chart.getChart(canvas);
      for (const list of [charts, timeCharts]) if (list.includes(chart)) list.splice(list.indexOf(chart), 1);
      chart.destroy();
    }
    place.replaceChildren();
  }
  for (const policy of shown) gpuChart(sides, policy);
  for (const policy of shown) priceChart(prices, policy);
  if (two) {
    scatter(differences, policies[shown[0]], policies[shown[1]]);
    mostDifferent(differences, policies[shown[0]], policies[shown[1]]);
  }
};
if (policies.length) {
  for (const choice of choices) choice.onchange = compare;
  compare();
}
contents(made, times, load, held);
showTime(...view);
