// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements, and figures as text.

// Text is only ever set as text: names are never markup.
const html = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};
const byId = id => document.getElementById(id);

// A tie goes to the even digit, as in the sentences, which C++ writes. Only eighths are ties.
const fixed = value => {
  const low = Math.floor(value * 100);
  return value * 8 % 2 === 1 && low % 2 === 0 ? (low / 100).toFixed(2) : value.toFixed(2);
};
const scaled = (value, step, units, plain) => {
  if (Math.abs(value) < step) return value + ' ' + plain;
  let unit = -1;
  while (Math.abs(value) >= step && unit + 1 < units.length) { value /= step; ++unit; }
  return fixed(value) + ' ' + units[unit];
};
const bytesText = value => scaled(value, 1024, ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'], 'B');
const timeText = value => scaled(Math.round(value), 1000, ['us', 'ms', 's'], 'ns');
const countText = value => value.toLocaleString('en');
// With as many digits as tell the two apart; of an empty span the time alone. `end` is the step's.
const spanText = (from, to, end) => {
  if (from === to) return from === 0 ? 'at the start of the step' : to === end ? 'at the end of the step' : 'at ' + timeText(from);
  if (from === 0 && to === end) return 'during the whole step';
  const [ns, name, most] = [[1e9, ' s', 9], [1e6, ' ms', 6], [1e3, ' us', 3]].find(([unit]) => from >= unit) ?? [1, '', 0];
  let digits = 2;
  while (digits < most && Math.round(to - from) * 10 ** digits < 10 * ns) ++digits;
  const text = digits > 2 ? time => (time / ns).toFixed(digits) + name : timeText;
  return 'from ' + text(from) + ' to ' + text(to);
};
// The end of a name says more than its start.
const nameText = (name, most) => name.length > most ? '…' + name.slice(1 - most) : name;
