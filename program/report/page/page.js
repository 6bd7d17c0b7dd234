// What the pages share: tables of figures, one legend whose lines can be chosen, line charts, what is said at the
// pointer, light and dark. Names reach a page as text only, never as markup.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const main = document.querySelector('main');

const add = (parent, name, properties = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties))
    if (key.startsWith('aria')) node.setAttribute('aria-' + key.slice(4).toLowerCase(), value);
    else if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  node.append(...children);
  if (parent) parent.append(node);
  return node;
};
const section = (id, title) => {
  const node = add(main, 'section', { id });
  add(node, 'h2', {}, title);
  return node;
};
const contents = (place, ...sections) => {
  const nav = add(null, 'nav', { ariaLabel: 'Contents' });
  for (const node of sections) if (node) add(nav, 'a', { href: '#' + node.id }, node.querySelector('h2').textContent);
  place.after(nav);
};
const download = (parent, file, rows) => {
  const field = value => /[",\n\r]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? '');
  add(parent, 'button', { type: 'button', onclick: () => {
    const text = rows().map(row => row.map(field).join(',') + '\n').join('');
    const link = add(null, 'a', { download: file, href: URL.createObjectURL(new Blob([text], { type: 'text/csv' })) });
    link.click();
    URL.revokeObjectURL(link.href);
  } }, file);
};

// ---- Figures of `goodput replay --json`: key, heading, decimals, factor, and whether less (-1) or more (1) is better.
const figures = [
  ['average_jct_h', 'Average completion, h', 3, 1, -1], ['p99_jct_h', '99th percentile, h', 3, 1, -1],
  ['median_jct_h', 'Median completion, h', 3, 1, -1], ['makespan_h', 'Makespan, h', 2, 1, -1],
  ['queueing_h', 'Waiting, h', 3, 1, -1], ['restarts_per_job', 'Restarts per job', 2, 1, 0],
  ['migrations_per_job', 'Migrations per job', 2, 1, 0], ['gpu_hours_per_job', 'GPU hours per job', 3, 1, -1],
  ['utilisation', 'Utilisation, %', 1, 100, 1], ['effective_gpus', 'Effective GPUs', 2, 1, 1],
  ['dollars', 'Dollars', 2, 1, -1], ['dollars_per_job', 'Dollars per job', 3, 1, -1], ['node_hours', 'Node hours', 2, 1, -1],
  ['rho_mean', 'rho, mean', 2, 1, -1], ['rho_p99', 'rho, 99 %', 2, 1, -1], ['rho_worst', 'rho, worst', 2, 1, -1],
  ['rho_above_1', 'rho above 1, %', 1, 100, -1], ['unfair', 'rho above 1.05, %', 1, 100, -1],
  ['availability', 'Useful GPU time, %', 1, 100, 1], ['failures_per_job', 'Failures per job', 2, 1, -1],
  ['jobs', 'Jobs', 0, 1, 0], ['completed', 'Jobs completed', 0, 1, 1], ['faults', 'Faults of the policy', 0, 1, -1],
  ['policy_ms_median', 'Decision, ms, median', 3, 1, -1], ['policy_ms_p99', 'Decision, ms, 99 %', 3, 1, -1],
  ['policy_s', 'All decisions, s', 2, 1, -1],
].map(([key, name, digits, factor, better]) => ({ key, name, digits, factor, better }));
const explanation = 'Completion times run from submission to completion. rho: a job’s completion time over the time with ' +
  'an equal share of the cluster. Effective GPUs: how many, each the fastest for its job and never idle, would have done ' +
  'the same.';
// Figures that some row has, known ones first.
const figuresOf = rows => {
  const keys = new Set(rows.flatMap(row => Object.keys(row).filter(key => row[key] === null || typeof row[key] === 'number')));
  const known = figures.filter(({ key }) => keys.delete(key));
  return [...known, ...[...keys].map(key => ({ key, name: key, digits: 3, factor: 1, better: 0 }))];
};
const figureText = (figure, row) =>
  row[figure.key] == null ? 'none' : (row[figure.key] * figure.factor).toFixed(figure.digits);
// The text of the best value. For figures over completed jobs, rows that complete fewer do not count.
const bestText = (figure, rows) => {
  const full = Math.max(...rows.map(row => row.completed ?? 0));
  const some = rows.filter(row => row[figure.key] != null &&
    (figure.key === 'completed' || row.completed == null || row.completed === full));
  if (!figure.better || new Set(rows.map(row => figureText(figure, row))).size < 2 || !some.length) return null;
  return figureText(figure, some.reduce((a, b) => figure.better * (b[figure.key] - a[figure.key]) > 0 ? b : a));
};
// A click on a heading sorts by its column, numbers by size and the largest first, and another click turns the order round.
const sortable = (head, body) => {
  const cells = [...head.children];
  cells.forEach((cell, column) => {
    const button = add(null, 'button', { type: 'button', title: 'sort by this column' }, ...cell.childNodes);
    cell.append(button);
    button.onclick = () => {
      const value = row => row.children[column].textContent.trim();
      const number = row => parseFloat(value(row).replace(/^[^0-9.+-]+/, ''));
      const rows = [...body.rows], numeric = rows.some(row => !Number.isNaN(number(row)));
      const down = cell.getAttribute('aria-sort') ? cell.getAttribute('aria-sort') === 'ascending' : numeric;
      const compare = (a, b) => !numeric ? value(a).localeCompare(value(b)) : number(a) - number(b);
      const known = row => !numeric || !Number.isNaN(number(row));
      const sorted = rows.filter(known).sort((a, b) => down ? compare(b, a) : compare(a, b));
      body.append(...sorted, ...rows.filter(row => !known(row)));
      for (const other of cells) other.removeAttribute('aria-sort');
      cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    };
  });
};
const table = (parent, caption, headings) => {
  const wide = add(parent, 'div', { className: 'wide', tabIndex: 0, role: 'region', ariaLabel: caption });
  const node = add(wide, 'table', { className: headings.length > 11 ? 'many' : '' });
  add(node, 'caption', {}, caption, add(null, 'span', { className: 'cue' }, ' (scroll sideways for more columns)'));
  const row = add(add(node, 'thead'), 'tr');
  for (const heading of headings) add(row, 'th', { scope: 'col' }, heading);
  const body = add(node, 'tbody');
  sortable(row, body);
  const look = () => wide.classList.toggle('scrolls', wide.scrollWidth > wide.clientWidth + 1);
  new ResizeObserver(look).observe(wide);
  new ResizeObserver(look).observe(node);
  return body;
};

// ---- What each policy does, in a line.
const policyLines = {
  sia: 'Sia (SOSP 2023), as its public simulator has it: normalised goodput, less a price per restart',
  'sia-refined': 'Sia’s policy, with our models of step times',
  goodput: 'our policy, which is not told how much work a job has left',
  'goodput-declared': 'our policy, which is told exactly how much work each job has left: an upper bound, as no scheduler knows that',
  'goodput-estimated': 'our policy, which is told an estimate of how much work each job has left',
  pollux: 'Pollux (OSDI 2021): the cluster’s fair mean of speedups, by a genetic search',
  optimus: 'Optimus (EuroSys 2018): GPUs go where they shorten the time left most; batch sizes stay',
  tiresias: 'Tiresias (NSDI 2019): queues by GPU time used so far; sizes stay',
  las: 'least attained service first; sizes stay',
  fifo: 'first come, first served; sizes stay',
  srtf: 'the shortest remaining time first; sizes stay',
};
const explainPolicies = (parent, names) => {
  const known = names.filter(name => policyLines[name]);
  if (!known.length) return;
  const list = add(parent, 'ul', { className: 'policies' });
  for (const name of known) add(list, 'li', {}, add(null, 'b', {}, name), ': ' + policyLines[name] + '.');
};

// ---- Lines: at most five have a colour and dashes of their own, the others are grey.
const dashes = [[], [9, 3], [3, 3], [10, 3, 3, 3], [6, 6]];
const most = dashes.length;
let lines = [], slots = [], recent = [];
const slotOf = line => slots.indexOf(line);
const firstLines = (names, compare) => {
  lines = names;
  slots = [...new Set(compare)].slice(0, most);
  const stem = i => names[i].split('-')[0];
  for (const variants of [false, true])
    for (const i of names.keys())
      if (slots.length < most && !slots.includes(i) && (variants || !slots.some(k => stem(k) === stem(i)))) slots.push(i);
  recent = [...slots].reverse();  // a sixth line takes the place of the first of these
};
const chooseLine = line => {
  if (slots.includes(line)) {
    slots[slotOf(line)] = null;
    recent = recent.filter(other => other !== line);
  } else {
    let slot = slots.indexOf(null);
    if (slot < 0 && slots.length < most) slot = slots.length;
    if (slot < 0) slot = slotOf(recent.shift());
    slots[slot] = line;
    recent.push(line);
  }
  showLegend();
  repaint();
};
const lineColour = line => slotOf(line) < 0 ? colour('--grey') : colour('--c' + slotOf(line));
// A piece of the line in that slot, or of a grey line (-1).
const sample = slot => {
  const picture = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const stroke = document.createElementNS(picture.namespaceURI, 'line');
  for (const [key, value] of Object.entries({ x1: 0, x2: 26, y1: 4, y2: 4, class: slot < 0 ? '' : 's' + slot,
    'stroke-dasharray': slot < 0 ? '' : dashes[slot].join(' ') })) stroke.setAttribute(key, value);
  picture.setAttribute('class', 'sample');
  picture.setAttribute('aria-hidden', 'true');
  picture.append(stroke);
  return picture;
};
let legend = null;
const showLegend = () => {
  const buttons = legend.querySelector('div');
  const at = buttons.scrollLeft, focused = document.activeElement && document.activeElement.dataset.line;
  buttons.replaceChildren();
  const order = [...slots.filter(line => line != null), ...lines.keys()];
  for (const line of new Set(order)) {
    const slot = slotOf(line);
    const button = add(buttons, 'button', { type: 'button', className: 'line', ariaPressed: slot >= 0,
      title: slot >= 0 ? 'make its lines grey' : 'give its lines a colour', onclick: () => chooseLine(line) });
    button.dataset.line = line;
    button.append(sample(slot), lines[line]);
    if (String(line) === focused) button.focus();
  }
  buttons.scrollLeft = at;
};
const addLegend = what => {
  legend = add(main, 'div', { className: 'legend' });
  add(legend, 'div', { role: 'group', ariaLabel: `${what} whose lines have a colour, at most five` });
  showLegend();
  return legend;
};

// ---- Light, dark and paper: charts take their colours from the style sheet.
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const charts = [];
const repaint = () => { for (const chart of charts) chart.update('none'); };
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
for (const [event, on] of [['beforeprint', true], ['afterprint', false]])
  addEventListener(event, () => {
    document.documentElement.classList.toggle('on-paper', on);
    for (const chart of charts) chart.resize();
    repaint();
  });
Chart.defaults.font.family = 'system-ui, sans-serif';
Chart.defaults.animation = false;
Chart.defaults.maintainAspectRatio = false;
Chart.defaults.plugins.legend.display = Chart.defaults.plugins.tooltip.enabled = false;
Chart.defaults.events = [];
const ticks = { color: () => colour('--pale'), maxRotation: 0, autoSkipPadding: 12 };
const grid = { color: () => colour('--line'), borderColor: () => colour('--line'), drawTicks: true };
const axisTitle = text => ({ display: !!text, text, color: () => colour('--pale') });

// ---- The text shown at the pointer, also moved by arrow keys.
const tip = add(document.body, 'div', { id: 'tip', role: 'status', hidden: true });
const say = (text, x, y) => {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - width - 8)) + 'px';
  tip.style.top = Math.max(4, y + 18 + height > innerHeight ? y - height - 10 : y + 18) + 'px';
};
const span = h => h < 1 / 60 ? (3600 * h).toFixed(0) + ' s' : h < 1 ? (60 * h).toFixed(h < .1 ? 1 : 0) + ' min' :
  h.toFixed(2) + ' h';

// A chart in a figure. `text(chart, x, y)` is the text at pixels of its canvas; the arrow keys move the reading.
const addChart = (parent, title, unit, label, config, text, { tall = false } = {}) => {
  const figure = add(parent, 'figure');
  if (title) add(figure, 'figcaption', {}, title, ...unit ? [add(null, 'span', {}, ` (${unit})`)] : []);
  const box = add(figure, 'div', { className: 'canvas' + (tall ? ' tall' : '') });
  const canvas = add(box, 'canvas', { tabIndex: 0, role: 'img', ariaLabel: label + '. Left and right arrows read values.' });
  const chart = new Chart(canvas, config);
  chart.reading = null;
  charts.push(chart);
  const read = (x, y) => {
    const { left, right, top, bottom } = chart.chartArea;
    const inside = x >= left && x <= right && y >= top - 2 && y <= bottom + 2;
    chart.reading = inside ? x : null;
    const place = canvas.getBoundingClientRect();
    say(inside ? text(chart, x, y) : '', place.left + x, place.top + y);
    chart.draw();
  };
  canvas.addEventListener('pointermove', event => read(event.offsetX, event.offsetY));
  const leave = () => { chart.reading = null; say(''); chart.draw(); };
  for (const event of ['pointerleave', 'blur']) canvas.addEventListener(event, leave);
  canvas.addEventListener('keydown', event => {
    const { left, right, top } = chart.chartArea, step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === 'Escape') return leave();
    if (!step) return;
    event.preventDefault();
    const x = chart.reading ?? (step > 0 ? left - 1 : right + 1);
    read(Math.min(Math.max(x + step * (right - left) / 100, left), right), top + 10);
  });
  return chart;
};
const readingLine = { id: 'reading', afterDraw(chart) {
  const { ctx, chartArea: { top, bottom } } = chart;
  ctx.save();
  if (chart.dragged) {
    ctx.fillStyle = colour('--c0') + '33';
    ctx.fillRect(chart.dragged[0], top, chart.dragged[1] - chart.dragged[0], bottom - top);
  } else if (chart.reading != null) {
    ctx.strokeStyle = colour('--ink');
    ctx.beginPath();
    ctx.moveTo(chart.reading, top);
    ctx.lineTo(chart.reading, bottom);
    ctx.stroke();
  }
  ctx.restore();
} };
const durations = [[1 / 3600, '1 s'], [1 / 360, '10 s'], [1 / 60, '1 min'], [1 / 30, '2 min'], [1 / 12, '5 min'],
  [1 / 6, '10 min'], [1 / 3, '20 min'], [1, '1 h'], [2, '2 h'], [5, '5 h'], [10, '10 h'], [24, '1 day'], [48, '2 days'],
  [120, '5 days'], [240, '10 days'], [720, '30 days'], [2400, '100 days'], [8760, '1 year']];
const durationAxis = (min, max, title) => ({ type: 'logarithmic', min, max, grid, title: axisTitle(title),
  ticks: { ...ticks, callback: value => (durations.find(([h]) => h === value) || [])[1] },
  afterBuildTicks: scale => {
    const apart = Math.log(max / min) * 64 / scale.chart[scale.axis === 'x' ? 'width' : 'height'];
    let last = 0;
    scale.ticks = durations.filter(([h]) => h >= min && h <= max && Math.log(h / last) > apart && (last = h)).map(([value]) => ({ value }));
  } });

// One line per name of the legend, or `own` lines, in order: {name, points: [{x, y}]}. With steps, y holds until the next point.
const lineChart = (parent, { title, unit, of, x, y, steps = true, own = false, say: words, tall, plugins = [] }) => {
  const look = i => own ? colour('--c' + i % most) : lineColour(i);
  const datasets = of.map((line, i) => ({
    data: line.points, stepped: steps, pointRadius: steps ? 0 : 3, spanGaps: true,
    borderColor: () => look(i), pointBackgroundColor: () => look(i), pointBorderColor: () => look(i),
    borderWidth: () => own ? 1.8 : slotOf(i) < 0 ? 1.2 : 2.2,
    borderDash: () => (own ? dashes[i % most] : dashes[slotOf(i)]) || [],
  }));
  const at = (points, value) => {
    if (!steps) return points.find(point => point.x === value);
    let low = 0, high = points.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (points[middle].x <= value) low = middle + 1; else high = middle;
    }
    return low && low < points.length ? points[low - 1] : null;
  };
  const text = (chart, pixel) => {
    let value = chart.scales.x.getValueForPixel(pixel);
    if (!steps) {
      const values = of.flatMap(line => line.points.map(point => point.x));
      value = values.reduce((a, b) => Math.abs(Math.log(b / value)) < Math.abs(Math.log(a / value)) ? b : a, values[0]);
    }
    const found = of.map((line, i) => ({ i, name: line.name, point: at(line.points, value) }))
      .filter(({ i, point }) => point && (own || slotOf(i) >= 0)).sort((a, b) => b.point.y - a.point.y);
    return found.length ? [words.x(value), ...found.map(({ name, point }) => `${words.y(point.y)}  ${name}`)].join('\n') : '';
  };
  const sort = { id: 'sort', beforeUpdate(chart) {
    chart.data.datasets.forEach((dataset, i) => { dataset.order = own || slotOf(i) >= 0 ? slotOf(i) : most; });
  } };
  return addChart(parent, title, unit, `${title}, lines of ${of.map(line => line.name).join(', ')}`, { type: 'line', data: { datasets },
    options: { parsing: false, normalized: true, scales: { x, y: { grid, min: 0, ticks, ...y } } },
    plugins: [readingLine, sort, ...plugins] }, text, { tall });
};
