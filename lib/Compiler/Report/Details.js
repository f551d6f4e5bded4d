// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The panel that tells of the selection: where, when, made and read by what, why copied, why late.

const kListed = 12;

const link = (plan, kind, index, text) => {
  // A button's text would not wrap within the sentence.
  const node = html('a', {className: 'link', textContent: text, tabIndex: 0, role: 'link'});
  node.addEventListener('click', () => {
    select(plan, kind, index);
    if (kind === 'command') reveal(plan.commands.startNs[index], plan.commands.endNs[index]);
  });
  node.addEventListener('keydown', event => { if (event.key === 'Enter') node.click(); });
  return node;
};
const linkOperator = (plan, op) => link(plan, 'operator', op, plan.operators.name[op]);
const linkTensor = (plan, tensor) => link(plan, 'tensor', tensor, plan.tensors.name[tensor]);
const linkCommand = (plan, command) => link(plan, 'command', command, plan.commandText(command));
// Text that a click replaces by nodes.
const more = (textContent, make) => {
  const node = html('a', {className: 'link more', textContent, tabIndex: 0, role: 'button'});
  node.addEventListener('click', () => node.replaceWith(...make()));
  node.addEventListener('keydown', event => { if (event.key === 'Enter') node.click(); });
  return node;
};
const linksOf = (items, make) => {
  const listed = (from, to) => items.slice(from, to).flatMap((item, i) => from + i ? [', ', make(item)] : [make(item)]);
  const nodes = listed(0, kListed);
  if (items.length > kListed)
    nodes.push(more(' and ' + countText(items.length - kListed) + ' more', () => listed(kListed, items.length)));
  return nodes;
};
const fact = (title, ...nodes) => html('div', {className: 'fact'}, html('b', {textContent: title}), ...nodes);
// A line for each thing, of many the first.
const lines = (things, make) => {
  const items = some => some.map(thing => html('li', {}, ...make(thing)));
  if (things.length > kListed)
    return html('ul', {}, ...items(things.slice(0, kListed)),
                more(countText(things.length - kListed) + ' more', () => items(things.slice(kListed))));
  return html('ul', {}, ...items(things));
};
// A sentence whose quoted names are links.
const linked = (plan, text) => text.split(/(?<=^|[ (])'([^']+)'/).flatMap((part, i, parts) => {
  if (i % 2 === 0) return part ? [part] : [];
  const isOperator = /operator $/i.test(parts[i - 1]) || !plan.tensorOf.has(part);
  const index = (isOperator ? plan.operatorOf : plan.tensorOf).get(part);
  if (index === undefined) return ["'" + part + "'"];
  return ["'", link(plan, isOperator ? 'operator' : 'tensor', index, part), "'"];
});

const commandTimes = (plan, command) => {
  const {startNs, endNs} = plan.commands;
  const measured = plan.measured.filter(step => step.startNs[command] >= 0).map(
      step => '; measured (' + step.name + ') ' + spanText(step.startNs[command], step.endNs[command], step.makespanNs) + ', ' +
          timeText(step.endNs[command] - step.startNs[command]));
  return 'planned ' + plan.spanText(startNs[command], endNs[command]) + ', ' + timeText(plan.tookNs(command)) + measured.join('');
};
// Of a command: by how much it could end later.
const slackText = slackNs => slackNs > 0 ? 'could end ' + timeText(slackNs) + ' later without a longer step' :
                                           'no slack: the step gets longer if it ends later';
// Who has a tensor's bytes while it is away.
const tellGuest = (plan, stay) => {
  const {tensor, bytes, startNs, endNs} = plan.residencies;
  const who = tensor[stay] >= 0 ? [linkTensor(plan, tensor[stay])] :
                                  ['the workspace of ', linkOperator(plan, plan.commands.operator[plan.creator[stay]])];
  return [...who, ', ' + bytesText(bytes[stay]) + ', ' + plan.spanText(startNs[stay], endNs[stay])];
};

const tellCopy = (plan, command, sentences, isSelected) => fact('',
    html(isSelected ? 'strong' : 'span', {}, linkCommand(plan, command)), ', ' + commandTimes(plan, command),
    html('ul', {}, ...sentences.map(text => html('li', {}, ...linked(plan, text)))));

const tellTensor = (plan, tensor, copy) => {
  const {tensors, residencies} = plan, nodes = [];
  nodes.push(html('p', {textContent: plan.tensorKinds[tensors.kind[tensor]] + ' of ' + bytesText(tensors.bytes[tensor]) +
                                     (plan.types[tensors.type[tensor]] ? ', ' + plan.types[tensors.type[tensor]] : '')}));
  if (plan.whyOf.has(tensor)) {
    const sentences = plan.why.sentences[plan.whyOf.get(tensor)];
    const told = plan.copies[tensor].map((each, i) => [each, sentences[i]]);
    // The selected one first.
    told.sort((a, b) => (b[0] === copy) - (a[0] === copy));
    nodes.push(html('details', {open: true}, html('summary', {textContent: told.length > 1 ? 'each copy' : 'why it is copied'}),
                    ...told.map(([each, texts]) => tellCopy(plan, each, texts, each === copy))));
  }
  const guests = plan.guests(tensor);
  if (guests.length)
    nodes.push(fact('between its stays, the addresses that it left or comes to are used, in the order of time, by ',
                    lines(guests, stay => tellGuest(plan, stay))));
  if (plan.maker[tensor] >= 0) nodes.push(fact('made by ', linkOperator(plan, plan.maker[tensor])));
  nodes.push(fact('read by ', ...(plan.readers[tensor].length ?
      linksOf(plan.readers[tensor], op => linkOperator(plan, op)) : ['none'])));
  nodes.push(fact('lies in ', lines(plan.stays[tensor], stay => [
    plan.memoryName(stay) + (residencies.home[stay] ? ', its home' :
      ' at bytes ' + countText(residencies.offset[stay]) + ' to ' + countText(residencies.offset[stay] + residencies.bytes[stay]) +
      ', ' + plan.spanText(residencies.startNs[stay], residencies.endNs[stay]))])));
  return nodes;
};

// What a command waits for.
const tellOrder = (plan, command) => {
  const nodes = [], {startNs, endNs, waits} = plan.commands;
  // What ended while the stream ran the command before was not waited for.
  const row = plan.rows[plan.commands.stream[command]], before = row[row.indexOf(command) - 1];
  const idleNs = before === undefined ? 0 : endNs[before];
  const waited = waits[command].filter(wait => endNs[wait] > idleNs);
  const there = waits[command].filter(wait => endNs[wait] <= idleNs);
  if (waited.length) nodes.push(fact('waits for ', ...linksOf(waited, wait => linkCommand(plan, wait))));
  if (there.length)
    nodes.push(fact('needs ', lines(there, wait => [
      linkCommand(plan, wait), ', which ended ' + timeText(startNs[command] - endNs[wait]) + ' before'])));
  if (plan.stallOf.has(command)) {
    const stall = plan.stallOf.get(command);
    nodes.push(fact('stall ', ...linked(plan, plan.stalls.text[stall])));
    if (plan.stalls.during[stall].length)
      nodes.push(fact('what takes this time ', ...linksOf(plan.stalls.during[stall], held => linkCommand(plan, held))));
    nodes.push(fact('the chain, each after the one below it ', lines(plan.chainOf(command), held => [
      linkCommand(plan, held), ', ' + plan.spanText(startNs[held], endNs[held])])));
  }
  return nodes;
};

const tellOperator = (plan, op, command) => {
  const {operators} = plan, nodes = [];
  nodes.push(html('p', {textContent: plan.kinds[operators.kind[op]] + ' on ' + plan.devices[operators.device[op]] + ', working set ' +
                                     bytesText(operators.workingSetBytes[op])}));
  for (const launch of plan.launches[op]) {
    nodes.push(fact('runs ', html(launch === command ? 'strong' : 'span', {textContent: commandTimes(plan, launch)}),
                    '; ' + slackText(plan.commands.slackNs[launch])));
    if (command === undefined || launch === command) nodes.push(...tellOrder(plan, launch));
  }
  nodes.push(fact('reads ', ...linksOf([...new Set(operators.inputs[op])], tensor => linkTensor(plan, tensor))));
  nodes.push(fact('makes ', ...linksOf(operators.outputs[op], tensor => linkTensor(plan, tensor))));
  return nodes;
};

const tell = () => {
  const panel = byId('details');
  if (!selection) {
    panel.replaceChildren(html('p', {className: 'hint', textContent:
      'Select an operator, a tensor or a copy in any view: all views show it, and this panel tells of it. ' +
      'Press ? for the keys.'}));
    return;
  }
  const {plan, kind, index} = selection;
  const isOperator = kind === 'operator' || kind === 'command' && plan.isLaunch(index);
  const command = kind === 'command' ? index : undefined;
  const thing = kind !== 'command' ? index : isOperator ? plan.commands.operator[index] : plan.tensorOfCopy(index);
  const name = isOperator ? plan.operators.name[thing] : plan.tensors.name[thing];
  const title = (plan.label ? plan.label + ': ' : '') + (isOperator ? 'operator ' : 'tensor ') + name;
  panel.replaceChildren(html('h3', {textContent: title}), ...(isOperator ? tellOperator : tellTensor)(plan, thing, command));
  plans.filter(other => other !== plan).forEach(other => {
    const same = other.translate(selection, plan);
    panel.append(same ? fact('the same in ', link(other, same.kind, same.index, other.label)) :
                        fact('the same in ', 'no other plan'));
  });
};
