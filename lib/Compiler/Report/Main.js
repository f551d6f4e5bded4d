// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page: each view of each plan, then the tables.

const charts = {timeline: [], memory: [], map: [], graph: [], history: []};
const addChart = (kind, chart, draw) => {
  charts[kind].push(chart);
  drawings.push(draw);
};
// A holder for each plan, below one another on one time axis, or side by side.
const holderIn = (id, plan, title = '') => {
  const holder = html('div', {className: 'pane'});
  if (plan.label || title) holder.append(html('h3', {textContent: [plan.label, title].filter(Boolean).join(': ')}));
  byId(id).append(holder);
  return holder;
};

for (const plan of plans) {
  const timeline = new TimeChart(holderIn('timeline', plan), 'Timeline ' + plan.label);
  addChart('timeline', timeline, () => drawTimeline(timeline, plan));
  plan.memories.forEach((memory, m) => {
    if (!isShown(memory)) return;
    const chart = new TimeChart(holderIn('memory', plan, memoryTitle(memory)), 'Bytes in use of ' + memory.name);
    addChart('memory', chart, () => drawMemory(chart, plan, memory));
    memory.stays = plan.residencies.tensor.map((tensor, stay) => stay).filter(
        stay => plan.residencies.memory[stay] === m && !plan.residencies.home[stay]);
    if (!memory.stays.length) return;
    const map = new MapChart(holderIn('map', plan), memory);
    addChart('map', map, () => drawMap(map, plan, memory));
  });
  if (plan.history.length) {
    const history = new Chart(holderIn('history', plan), 'Best step over the plans made');
    addChart('history', history, () => drawHistory(history, plan));
  }
}
byId('history').closest('section').hidden = !charts.history.length;
const graph = new GraphChart(byId('graph'), plans[0]);
addChart('graph', graph, () => graph.draw());
makeTables(plans[0]);

const legend = byId('legend');
const key = (colour, text) => {
  const mark = html('span', {className: 'key'});
  mark.style.background = colour;
  legend.append(mark, text);
};
[...new Set(plans.flatMap(plan => plan.operators.device))].sort((a, b) => a - b).forEach(
    device => key(deviceColour(device), plans[0].devices[device] ?? 'device ' + device));
// What the plans have.
const hasStream = kinds => plans.some(plan => plan.streams.some(([, kind], i) => kinds.includes(kind) && plan.rows[i].length));
if (hasStream([kStream.swapIn])) key('var(--in)', 'copy in');
if (hasStream([kStream.fileIn])) key('var(--in)', 'read from a file');
if (hasStream([kStream.swapOut])) key('var(--out)', 'copy out');
if (hasStream([kStream.fileOut])) key('var(--out)', 'written to a file');
if (plans.some(plan => plan.stalls.command.length)) key('var(--limit)', 'stall');
byId('map-legend').append(...Object.entries({
  parameter: 'parameter', activation: 'activation, input, output', state: 'state', workspace: 'workspace',
}).flatMap(([kind, text]) => {
  const mark = html('span', {className: 'key'});
  mark.style.background = 'var(--' + kind + ')';
  return [mark, text];
}));

// Where the time goes: each copy of the critical path, and the operators between copies together.
for (const plan of plans) {
  const {startNs, endNs} = plan.commands, parts = [];
  for (const command of plan.criticalPath) {
    const last = parts[parts.length - 1];
    if (last && plan.isLaunch(command) && plan.isLaunch(last[0])) last.push(command);
    else parts.push([command]);
  }
  const pane = holderIn('time', plan);
  pane.append(html('ul', {}, ...[...plan.deviceTimes, ...plan.links].map(textContent => html('li', {textContent}))),
              html('details', {open: parts.length <= kListed},
                   html('summary', {textContent: 'critical path, ' + countText(plan.criticalPath.length) + ' commands'}),
                   lines(parts, part => {
    const from = startNs[part[0]], to = endNs[part[part.length - 1]];
    const rest = part.length > 1 ? [' to ', linkCommand(plan, part[part.length - 1]), ', ' + countText(part.length) + ' operators'] : [];
    return [linkCommand(plan, part[0]), ...rest, ', ' + plan.spanText(from, to) + ', ' + timeText(to - from)];
  })));
}

followers.push(tell, () => {
  const lit = lits[0];
  const op = lit && [...lit.main.operators, ...lit.near.operators][0];
  if (op !== undefined && op !== null) graph.reveal(op);
});
const middle = act => act(graph.holder.clientWidth / 2, graph.viewHeight / 2);
for (const [id, act] of [
  ['zoom-in', () => zoomBy(0.5)], ['zoom-out', () => zoomBy(2)], ['zoom-all', showAll],
  ['graph-in', () => middle((x, y) => graph.zoom(1.5, x, y))], ['graph-out', () => middle((x, y) => graph.zoom(1 / 1.5, x, y))],
  ['graph-all', () => { graph.fit(); redraw(); }], ['go-back', goBack], ['go-forward', goForward], ['go-stall', nextStall],
  ['show-keys', kKeys['?'][1]],
  ['beside', () => { document.body.classList.toggle('beside'); redraw(); }],
]) byId(id).addEventListener('click', act);
byId('beside').hidden = plans.length < 2;

const restyle = () => { readColours(); redraw(); };
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', restyle);
// Paper is white.
const drawNow = () => { readColours(); drawings.forEach(draw => draw()); };
window.addEventListener('beforeprint', () => {
  document.documentElement.classList.add('paper');
  tables.forEach(table => table.beginPrint());
  drawNow();
});
window.addEventListener('afterprint', () => {
  document.documentElement.classList.remove('paper');
  tables.forEach(table => table.endPrint());
  drawNow();
});
// The timeline stays in view beside the tables, where it leaves room for them.
const pin = () => {
  const section = byId('timeline').closest('section');
  section.classList.toggle('pinned', innerWidth > 1000 && section.offsetHeight < 0.4 * innerHeight);
};
drawings.push(pin);
window.addEventListener('resize', redraw);
readColours();
tell();
show(0, end);

// For the console, and for tests.
window.report = {plans, charts, tables, view, show, select, clear, spanText, timeText, bytesText, get selection() { return selection; }};
