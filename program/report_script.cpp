#include "charts.hpp"

namespace cli {

// Names reach the page as text only (textContent), never as markup.
const char* const report_script = R"js(
(() => {
'use strict';
const one = (query, root = document) => root.querySelector(query);
const all = (query, root = document) => [...root.querySelectorAll(query)];
const data = JSON.parse(one('#data').textContent);
const hours = quanta => quanta * data.quantum / 3600;
const draw = (parent, name, attributes = {}, text) => {
  const node = document.createElementNS(one('svg').namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return parent.appendChild(node);
};
const add = (parent, name, text, style) => {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (style) node.className = style;
  return parent.appendChild(node);
};
const span = h => h < 1 ? (60 * h).toFixed(h < .1 ? 1 : 0) + ' min' : h.toFixed(2) + ' h';
for (const node of all('.script, .tools, #compare')) node.hidden = false;

// A tip at the pointer. What an element's title says moves into it, so that browsers show no second one.
const tip = add(document.body, 'div');
tip.id = 'tip';
tip.hidden = true;
const show = (text, event) => {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + 'px';
  tip.style.top = (event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18) + 'px';
};
for (const title of all('svg title')) {
  title.parentNode.dataset.tip = title.textContent;
  title.remove();
}

// Jobs: one is in view while the pointer is on it, or until another click if it was clicked.
const focus = add(document.head, 'style');
let kept = null, seen = null;
const bring = job => {
  if (job === seen) return;
  seen = job;
  focus.textContent = job == null ? '' : `:is(.b, .dot):not([data-j="${job}"]) { opacity: .18 } .restart { opacity: .2 !important }`;
};
const piecesOf = path => path.pieces ||= [...path.getAttribute('d').matchAll(/M(\d+) (\d+)h(\d+)v(\d+)/g)]
  .map(match => match.slice(1).map(Number));
const jobText = (job, policy) => {
  const time = data.policies[policy].hours[job], restarts = data.policies[policy].restarts[job];
  return `submitted at ${data.submitted[job].toFixed(2)} h, ` +
    (time == null ? 'not completed' : `completed after ${span(time)}`) +
    `, ${restarts} restart${restarts === 1 ? '' : 's'}`;
};
const blockText = (path, event) => {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(path.getScreenCTM().inverse()).x;
  const held = new Map();
  for (const [x, , width, gpus] of piecesOf(path)) {
    const now = held.get(x) || { begin: x, end: x + width, gpus: 0 };
    now.gpus += gpus;
    held.set(x, now);
  }
  const times = [...held.values()].sort((a, b) => a.begin - b.begin);
  let i = times.findIndex(time => at < time.end);
  if (i < 0) i = times.length - 1;
  let { begin, end, gpus } = times[i];
  for (let k = i + 1; k < times.length && times[k].begin === end && times[k].gpus === gpus; ++k) end = times[k].end;
  for (let k = i - 1; k >= 0 && times[k].end === begin && times[k].gpus === gpus; --k) begin = times[k].begin;
  const job = +path.dataset.j, policy = +path.closest('.picture').dataset.policy;
  return `${data.names[job]} (${data.applications[data.application[job]]})\n` +
    `${gpus} ${path.ownerSVGElement.dataset.type} GPU${gpus === 1 ? '' : 's'} ` +
    `from ${hours(begin).toFixed(2)} to ${hours(end).toFixed(2)} h (${span(hours(end - begin))})\n` + jobText(job, policy);
};

// How far every policy is at the pointer's completion time.
const completions = one('#completions');
const cross = completions && draw(completions, 'path', { class: 'cross' });
const sorted = data.policies.map(policy => policy.hours.filter(h => h != null).sort((a, b) => a - b));
const left = 96, width = 1052;
const completionsText = event => {
  const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(completions.getScreenCTM().inverse()).x;
  const part = (x - left) / width;
  cross.setAttribute('d', part >= 0 && part <= 1 ? `M${x} 8v280` : '');
  if (part < 0 || part > 1) return '';
  const low = +completions.dataset.low, high = +completions.dataset.high, h = low * (high / low) ** part;
  return `within ${span(h)}\n` + data.policies.map((policy, p) => {
    const done = sorted[p].filter(time => time <= h).length;
    return `${(100 * done / policy.hours.length).toFixed(1)} %  ${policy.name}`;
  }).join('\n');
};

document.addEventListener('pointermove', event => {
  if (dragging) return;
  const target = event.target.closest ? event.target : document.body;
  const block = target.closest('.b'), job = target.closest('[data-j]');
  if (kept == null) bring(job ? job.dataset.j : null);
  const at = completions && target.closest('#completions');
  if (cross && !at) cross.setAttribute('d', '');
  const said = target.closest('[data-tip]');
  show(at ? completionsText(event) : block ? blockText(block, event) : said ? said.dataset.tip : '', event);
});
document.addEventListener('keydown', event => { if (event.key === 'Escape') bring(kept = null); });

// The part of the time that all pictures show.
let shown = [0, data.end], dragging = null, dragged = false;
const most_restarts = data.policies.reduce((most, policy) => Math.max(most, policy.restarts.reduce((a, b) => a + b, 0)), 0);
const zoom = () => {
  const [begin, end] = shown, size = hours(end - begin);
  for (const view of all('svg.view')) {
    const box = view.getAttribute('viewBox').split(' ');
    view.setAttribute('viewBox', `${begin} 0 ${end - begin} ${box[3]}`);
  }
  for (const axis of all('.axis.time')) {
    const [x0, width, top, bottom] = ['left', 'width', 'top', 'bottom'].map(key => +axis.dataset[key]);
    const rough = size / (width > 700 ? 12 : 6), power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough * (1 - 1e-9));
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    axis.replaceChildren();
    for (let i = Math.ceil(hours(begin) / step - 1e-9); i * step <= hours(end) * (1 + 1e-9); ++i) {
      const x = (x0 + (i * step - hours(begin)) / size * width).toFixed(1);
      draw(axis, 'path', { d: `M${x} ${top}V${bottom}` });
      draw(axis, 'text', { x, y: bottom + 15 }, (i * step).toFixed(digits));
    }
  }
  const part = end - begin < data.end;
  document.body.classList.toggle('dense', most_restarts * (end - begin) / data.end > 1200);
  for (const id of ['earlier', 'later', 'whole']) one('#' + id).disabled = !part;
};
const show_time = (begin, end) => {
  const size = Math.min(Math.max(end - begin, 10), data.end);
  begin = Math.min(Math.max(begin, 0), data.end - size);
  shown = [begin, begin + size];
  zoom();
};
const move = part => show_time(shown[0] + part * (shown[1] - shown[0]), shown[1] + part * (shown[1] - shown[0]));
one('#earlier').onclick = () => move(-.5);
one('#later').onclick = () => move(.5);
one('#whole').onclick = () => show_time(0, data.end);
one('#marks').onchange = event => document.body.classList.toggle('plain', !event.target.checked);
const position = (picture, event) =>
  new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse()).x;
document.addEventListener('pointerdown', event => {
  const picture = event.target.closest('.picture'), axis = picture && one('.axis.time', picture);
  dragged = false;
  if (!axis || event.button !== 0) return;
  const [x0, width, top, bottom] = ['left', 'width', 'top', 'bottom'].map(key => +axis.dataset[key]);
  const x = position(picture, event);
  if (x < x0 || x > x0 + width) return;
  event.preventDefault();
  const rect = draw(picture, 'rect', { class: 'drag', y: top, height: bottom - top, width: 0 });
  dragging = { picture, x0, width, from: x, rect, to: x };
});
document.addEventListener('pointermove', event => {
  if (!dragging) return;
  const { picture, x0, width, from, rect } = dragging;
  dragging.to = Math.min(Math.max(position(picture, event), x0), x0 + width);
  rect.setAttribute('x', Math.min(from, dragging.to));
  rect.setAttribute('width', Math.abs(dragging.to - from));
  show('', event);
});
document.addEventListener('pointerup', () => {
  if (!dragging) return;
  const { x0, width, from, to, rect } = dragging;
  rect.remove();
  dragging = null;
  dragged = Math.abs(to - from) >= 4;
  if (!dragged) return;
  const time = x => shown[0] + (x - x0) / width * (shown[1] - shown[0]);
  show_time(time(Math.min(from, to)), time(Math.max(from, to)));
});
document.addEventListener('dblclick', event => {
  if (event.target.closest('.picture') && one('.axis.time', event.target.closest('.picture'))) show_time(0, data.end);
});
document.addEventListener('click', event => {
  const job = !dragged && event.target.closest('[data-j]');
  if (job) bring(kept = kept === job.dataset.j ? null : job.dataset.j);
});

// Two policies: their pictures over each other, and the jobs that they treat most differently.
const choices = all('#compare select');
const marks = [[1 / 3600, '1 s'], [5 / 3600, '5 s'], [1 / 360, '10 s'], [1 / 120, '30 s'], [1 / 60, '1 min'], [1 / 30, '2 min'],
  [1 / 12, '5 min'], [1 / 6, '10 min'], [1 / 3, '20 min'], [1 / 2, '30 min'], [1, '1 h'], [2, '2 h'], [5, '5 h'], [10, '10 h'],
  [20, '20 h'], [50, '50 h'], [100, '100 h'], [1000, '1000 h']];
const scatter = (place, first, second) => {
  place.replaceChildren();
  const times = first.hours.map((h, job) => [h, second.hours[job], job]).filter(([a, b]) => a != null && b != null);
  if (!times.length) return;
  const values = times.flatMap(([a, b]) => [Math.max(a, 1 / 3600), Math.max(b, 1 / 3600)]);
  const low = values.reduce((a, b) => Math.min(a, b)) / 1.2, high = values.reduce((a, b) => Math.max(a, b)) * 1.2;
  const at = h => Math.log(Math.max(h, low) / low) / Math.log(high / low);
  const x = h => 60 + 380 * at(h), y = h => 390 - 380 * at(h);
  const picture = draw(place, 'svg', { class: 'picture', viewBox: '0 0 450 440' });
  const grid = draw(picture, 'g', { class: 'axis' });
  let last = 0;
  for (const [h, text] of marks) {
    if (h < low || h > high || x(h) < last + 48) continue;
    last = x(h);
    draw(grid, 'path', { d: `M${x(h)} 10V390M60 ${y(h)}H440` });
    draw(grid, 'text', { x: x(h), y: 406 }, text);
    draw(grid, 'text', { x: 30, y: y(h) + 4 }, text);
  }
  draw(grid, 'path', { d: 'M60 10V390H440', class: 'rule' });
  draw(picture, 'path', { d: 'M60 390L440 10', class: 'cross', 'stroke-dasharray': '4 3' });
  draw(picture, 'text', { x: 250, y: 426, class: 'name' }, `under ${first.name}`);
  draw(picture, 'text', { x: 66, y: 22 }, `under ${second.name}`);
  for (const [a, b, job] of times)
    draw(picture, 'circle', { class: `dot a${Math.min(data.application[job], 7)}`, cx: x(a).toFixed(1), cy: y(b).toFixed(1),
      r: times.length > 300 ? 2.5 : 3.5, 'data-j': job, 'data-tip':
      `${data.names[job]} (${data.applications[data.application[job]]})\n${span(a)} under ${first.name}\n${span(b)} under ${second.name}` });
};
const most = (place, first, second) => {
  place.replaceChildren();
  const table = add(place, 'table'), head = add(table, 'tr');
  for (const name of ['job', 'application', 'submitted h', first.name + ' h', second.name + ' h', 'difference h', 'ratio'])
    add(head, 'th', name, name === 'application' ? 'text' : '');
  const far = job => first.hours[job] == null || second.hours[job] == null ? Infinity : Math.abs(second.hours[job] - first.hours[job]);
  const jobs = data.names.map((_, job) => job)
    .filter(job => (first.hours[job] != null || second.hours[job] != null) && far(job) > 0)
    .sort((a, b) => far(b) - far(a) || a - b).slice(0, 14);
  for (const job of jobs) {
    const row = add(table, 'tr'), a = first.hours[job], b = second.hours[job];
    row.dataset.j = job;
    add(row, 'td', data.names[job]);
    const cell = add(row, 'td', undefined, 'text');
    add(cell, 'i', undefined, `a${Math.min(data.application[job], 7)}`);
    cell.append(data.applications[data.application[job]]);
    add(row, 'td', data.submitted[job].toFixed(2));
    for (const time of [a, b]) add(row, 'td', time == null ? 'not completed' : time.toFixed(2));
    add(row, 'td', a == null || b == null ? '' : (b > a ? '+' : '') + (b - a).toFixed(2));
    add(row, 'td', a == null || b == null || !(a > 0) ? '' : (b / a).toFixed(2));
  }
  if (!jobs.length) add(place, 'p', 'Every job takes as long under both.');
};
const compare = () => {
  const [first, second] = choices.map(choice => +choice.value);
  all('.side').forEach((side, i) => {
    const policy = [first, second][i], picture = one('#gpus' + policy).cloneNode(true);
    picture.removeAttribute('id');
    side.replaceChildren();
    add(side, 'h3', data.policies[policy].name);
    side.append(picture);
  });
  scatter(one('.scatter'), data.policies[first], data.policies[second]);
  most(one('.most'), data.policies[first], data.policies[second]);
};
if (choices.length) {
  for (const choice of choices) choice.onchange = compare;
  compare();
}
zoom();
})();
)js";

}  // namespace cli
