// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finding by name, and what the keyboard does.

// The operators and tensors whose names have a text; those that begin with it first.
const findNames = (wanted, most) => {
  const found = [];
  const text = wanted.toLowerCase();
  for (const plan of plans)
    for (const [kind, names] of [['operator', plan.operators.name], ['tensor', plan.tensors.name]])
      names.forEach((name, index) => {
        const at = name.toLowerCase().indexOf(text);
        if (at >= 0) found.push({plan, kind, index, name, at: at && 1, length: name.length});
      });
  return found.sort((a, b) => a.at - b.at || a.length - b.length || plans.indexOf(a.plan) - plans.indexOf(b.plan)).slice(0, most);
};

const find = byId('find'), matches = byId('matches');
const showMatches = () => {
  matches.replaceChildren(...(find.value ? findNames(find.value, 12) : []).map(match => {
    const text = (match.plan.label ? match.plan.label + ': ' : '') + match.kind + ' ' + match.name;
    const button = html('button', {className: 'link', textContent: text});
    button.addEventListener('click', () => go(match));
    return html('li', {}, button);
  }));
  if (find.value && !matches.children.length)
    matches.append(html('li', {textContent: 'no operator and no tensor has this in its name'}));
  matches.hidden = !matches.children.length;
};
const go = ({plan, kind, index}) => {
  matches.hidden = true;
  document.activeElement.blur(); // Keys are the page's again.
  select(plan, kind, index);
  revealAll(kind === 'operator' ? plan.launches[index].map(launch => [plan.commands.startNs[launch], plan.commands.endNs[launch]]) :
                plan.stays[index].filter(stay => !plan.residencies.home[stay]).map(
                    stay => [plan.residencies.startNs[stay], plan.residencies.endNs[stay]]));
};
find.addEventListener('input', showMatches);
find.addEventListener('keydown', event => {
  if (event.key === 'Enter' && matches.querySelector('button')) matches.querySelector('button').click();
  else if (event.key === 'ArrowDown' && matches.querySelector('button')) matches.querySelector('button').focus();
  else if (event.key === 'Escape') { find.value = ''; showMatches(); find.blur(); }
  else return;
  event.preventDefault();
});

matches.addEventListener('keydown', event => {
  const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (event.key === 'Escape') find.focus();
  else if (!by) return;
  else {
    const buttons = [...matches.querySelectorAll('button')];
    const to = buttons.indexOf(document.activeElement) + by;
    if (to < 0) find.focus();
    else buttons[Math.min(to, buttons.length - 1)].focus();
  }
  event.preventDefault();
  event.stopPropagation();
});

// The command that is selected, or a first one of what is.
const selectedCommand = () => {
  if (!selection) return -1;
  const {plan, kind, index} = selection;
  const commands = kind === 'command' ? [index] : kind === 'operator' ? plan.launches[index] : plan.copies[index];
  return commands.length ? commands[0] : -1;
};
const selectCommand = (plan, command) => {
  if (command === undefined || command < 0) return;
  select(plan, 'command', command);
  reveal(plan.commands.startNs[command], plan.commands.endNs[command]);
};
// The next command, or the one before, of its stream.
const stepAlong = by => {
  const plan = selection ? selection.plan : plans[0], from = selectedCommand();
  if (from < 0) {
    selectCommand(plan, 0);
    return;
  }
  const row = plan.rows[plan.commands.stream[from]];
  selectCommand(plan, row[row.indexOf(from) + by]);
};
// The command of the stream below or above that is nearest in time.
const stepAcross = by => {
  const plan = selection ? selection.plan : plans[0], from = selectedCommand();
  if (from < 0) {
    selectCommand(plan, 0);
    return;
  }
  const streams = plan.rows.map((row, i) => i).filter(i => plan.rows[i].length);
  const row = plan.rows[streams[streams.indexOf(plan.commands.stream[from]) + by]];
  if (!row) return;
  const away = command => Math.abs(plan.commands.startNs[command] - plan.commands.startNs[from]);
  selectCommand(plan, row.reduce((best, command) => away(command) < away(best) ? command : best, row[0]));
};
const nextStall = () => {
  const plan = selection ? selection.plan : plans[0];
  const from = selectedCommand(), after = from < 0 ? -1 : plan.commands.startNs[from];
  const inTime = [...plan.stalls.command].sort((a, b) => plan.commands.startNs[a] - plan.commands.startNs[b]);
  const stalled = inTime.find(command => plan.commands.startNs[command] > after) ?? inTime[0];
  if (stalled === undefined) return;
  select(plan, 'command', stalled);
  // The stall, what takes its time, and the beginning of the operator.
  const {startNs, endNs} = plan.commands, stall = plan.stallOf.get(stalled), start = startNs[stalled];
  const begin = Math.min(start - plan.stalls.ns[stall], ...plan.stalls.during[stall].map(held => startNs[held]));
  show(begin - 0.1 * (start - begin), start + Math.min(endNs[stalled] - start, 0.5 * (start - begin)));
};

const kKeys = {
  '/': ['find an operator or a tensor', () => { find.focus(); find.select(); }],
  'j': ['next command of the stream', () => stepAlong(1)],
  'k': ['command before', () => stepAlong(-1)],
  'J': ['stream below', () => stepAcross(1)],
  'K': ['stream above', () => stepAcross(-1)],
  's': ['next stall', nextStall],
  '[': ['selection before', goBack],
  ']': ['selection after', goForward],
  '+': ['zoom in', () => zoomBy(0.5)],
  '-': ['zoom out', () => zoomBy(2)],
  '0': ['whole step', () => showAll()],
  'ArrowLeft': ['earlier', () => panBy(-0.2)],
  'ArrowRight': ['later', () => panBy(0.2)],
  'Escape': ['select nothing', clear],
  '?': ['these keys', () => { byId('keys').open ? byId('keys').close() : byId('keys').showModal(); }],
};
byId('key-list').append(...Object.entries(kKeys).flatMap(
    ([key, [text]]) => [html('dt', {textContent: key}), html('dd', {textContent: text})]));
window.addEventListener('keydown', event => {
  if (event.target.closest('input') || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key === '=' ? '+' : event.key;
  if (!Object.hasOwn(kKeys, key) || byId('keys').open && key !== '?') return;
  // Arrows scroll what scrolls.
  if (key.startsWith('Arrow') && event.target.closest('.scroll')) return;
  kKeys[key][1]();
  event.preventDefault();
});
