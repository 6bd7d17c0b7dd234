// Parallelism plans: for each the timeline of its stages, the memory of their GPUs and a table.
'use strict';
const kinds = [['forward', '--a0'], ['backward', '--a1'], ['sending', '--a7'], ['update', '--a2']];
const stageAxis = count => ({ min: 0, max: count, reverse: true, grid: { display: false },
  ticks: { ...ticks, stepSize: 1, callback: () => '' }, afterFit: scale => { scale.width = 66; } });
const timeline = (parent, { hint, end_s, blocks }, count) => {
  add(parent, 'h3', {}, 'Timeline');
  add(parent, 'p', { className: 'hint' }, hint + ' Every stage computes one micro-batch forward, then one backward, as soon as ' +
    'its neighbours let it.');
  const key = add(parent, 'ul', { className: 'names' });
  for (const [kind, style] of kinds) {
    const item = add(key, 'li');
    add(item, 'i').style.background = `var(${style})`;
    item.append(kind === 'update' ? 'reduction of gradients and update' : kind);
  }
  const paint = { id: 'stages', beforeDatasetsDraw({ ctx, scales: { x, y } }) {
    ctx.save();
    for (const { stage, kind, begin_s, end_s: end } of blocks) {
      const left = x.getPixelForValue(begin_s), top = y.getPixelForValue(stage + .1);
      ctx.fillStyle = colour(kinds.find(([name]) => name === kind)[1]);
      ctx.fillRect(left, top, Math.max(x.getPixelForValue(end) - left - .5, .5), y.getPixelForValue(stage + .9) - top);
    }
    ctx.restore();
  } };
  const chart = addChart(parent, '', '', 'When each stage computes which micro-batch', { type: 'scatter', data: { datasets: [] },
    plugins: [paint, stageNames(count), readingLine], options: { scales: { y: stageAxis(count),
      x: { min: 0, max: end_s, grid, ticks: { ...ticks, includeBounds: false }, title: axisTitle('seconds since the iteration began') } } } },
  ({ scales: { x, y } }, px, py) => {
    const time = x.getValueForPixel(px), stage = Math.floor(y.getValueForPixel(py));
    const block = blocks.find(one => one.stage === stage && time >= one.begin_s && time < one.end_s);
    return block ? block.what : '';
  });
  chart.canvas.parentNode.style.height = 60 + 28 * count + 'px';
};
const stageNames = count => ({ id: 'names', afterDraw({ ctx, chartArea: { left }, scales: { y } }) {
  ctx.save();
  ctx.font = `12px ${Chart.defaults.font.family}`;
  ctx.textAlign = 'right';
  ctx.fillStyle = colour('--ink');
  for (let s = 0; s < count; ++s) ctx.fillText(`stage ${s + 1}`, left - 8, y.getPixelForValue(s + .5) + 4);
  ctx.restore();
} });
const memory = (parent, stages) => {
  const most = Math.max(...stages.map(stage => Math.max(stage.memory_gib, stage.limit_gib)));
  const paint = { id: 'memory', beforeDatasetsDraw({ ctx, scales: { x, y } }) {
    ctx.save();
    stages.forEach((stage, s) => {
      const left = x.getPixelForValue(0), top = y.getPixelForValue(s + .15), bottom = y.getPixelForValue(s + .85);
      ctx.fillStyle = colour(stage.fits ? '--a2' : '--a5');
      ctx.fillRect(left, top, x.getPixelForValue(stage.memory_gib) - left, bottom - top);
      ctx.fillStyle = colour('--ink');
      ctx.fillRect(x.getPixelForValue(stage.limit_gib) - 1, top - 3, 2, bottom - top + 6);
    });
    ctx.restore();
  } };
  const chart = addChart(parent, 'Memory of the fullest GPU of each stage', 'GiB; the line is what the smallest GPU of the stage has',
    'Memory by stage', { type: 'scatter', data: { datasets: [] }, plugins: [paint, stageNames(stages.length)],
      options: { scales: { y: stageAxis(stages.length), x: { min: 0, suggestedMax: most, grid, ticks, title: axisTitle('GiB') } } } },
    ({ scales: { y } }, px, py) => (stages[Math.floor(y.getValueForPixel(py))] || {}).memory || '');
  chart.canvas.parentNode.style.height = 60 + 28 * stages.length + 'px';
};
const plans = data.plans.map(({ model, summary, stages, timeline: of }, p) => {
  const place = section(`plan${p + 1}`, `${p + 1}. ${model}`);
  add(place, 'p', {}, summary);
  const body = table(place, 'Stages', ['Stage', 'Layers', 'Replicas × GPUs of each', 'Computes a micro-batch in', 'Sends it in',
    'Reduces gradients in', 'Updates in', 'Memory']);
  stages.forEach((stage, s) => {
    const row = add(body, 'tr');
    add(row, 'th', { scope: 'row' }, String(s + 1));
    for (const text of ['layers', 'gpus']) add(row, 'td', { className: 'words' }, stage[text]);
    for (const text of ['compute', 'send', 'reduce', 'update', 'memory']) add(row, 'td', {}, stage[text]);
  });
  if (of) timeline(place, of, stages.length);
  memory(place, stages);
  return place;
});
contents(document.querySelector('.result'), ...plans);
