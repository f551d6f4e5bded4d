// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What all views share: the plans, the time shown, the selection.

const data = JSON.parse(byId('data').textContent);
const plans = [new Plan(data, data.against ? 'A' : '', data.measured)];
if (data.against) plans.push(new Plan(data.against, 'B', []));

const end = Math.max(1, ...plans.map(plan => plan.makespanNs), ...data.measured.map(step => step.makespanNs));
const view = {from: 0, to: end};

const drawings = []; // Functions that draw a view again.
const followers = []; // Functions that are told a new selection.
let isQueued = false;
const redraw = () => {
  if (isQueued) return;
  isQueued = true;
  requestAnimationFrame(() => {
    isQueued = false;
    drawings.forEach(draw => draw());
  });
};

const show = (from, to) => {
  const width = Math.min(Math.max(to - from, end / 1e6, 10), end);
  view.from = Math.min(Math.max(from, 0), end - width);
  view.to = view.from + width;
  redraw();
};
// The whole step, and of each map all addresses.
const showAll = () => {
  charts.map.forEach(map => map.reset());
  show(0, end);
};
const zoomBy = (factor, middle = (view.from + view.to) / 2) =>
    show(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
const panBy = share => show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));

// {plan, kind: 'operator', 'tensor' or 'command', index}, and what it touches in each plan.
let selection = null;
let lits = plans.map(() => null);
const past = [], future = [];
const place = next => {
  selection = next;
  lits = plans.map(plan => plan.lit(next && plan.translate(next, next.plan)));
  followers.forEach(follow => follow());
  redraw();
};
const select = (plan, kind, index) => {
  if (selection && selection.plan === plan && selection.kind === kind && selection.index === index) return;
  past.push(selection);
  future.length = 0;
  place({plan, kind, index});
};
const clear = () => {
  if (!selection) return;
  past.push(selection);
  future.length = 0;
  place(null);
};
const goBack = () => {
  if (!past.length) return;
  future.push(selection);
  place(past.pop());
};
const goForward = () => {
  if (!future.length) return;
  past.push(selection);
  place(future.pop());
};
// 2: the selection itself, 1: beside it, 0: neither; of no selection 1.
const litLevel = (plan, what, index) => {
  const lit = lits[plans.indexOf(plan)];
  if (!selection) return 1;
  return lit && lit.main[what].has(index) ? 2 : lit && lit.near[what].has(index) ? 1 : 0;
};

// Shows a span from the first to the last, where one of them is not in view.
const revealAll = spans => {
  if (!spans.length || spans.every(([from, to]) => from >= view.from && to <= view.to)) return;
  const from = Math.min(...spans.map(span => span[0])), to = Math.max(...spans.map(span => span[1]));
  show(from - 0.05 * (to - from), to + 0.05 * (to - from));
};
// Brings a span into view, where it is not.
const reveal = (from, to) => {
  const width = view.to - view.from;
  if (to < view.from || from > view.to) show((from + to - width) / 2, (from + to + width) / 2);
  else if (to - from < width / 2000) show((from + to) / 2 - 100 * (to - from + 1), (from + to) / 2 + 100 * (to - from + 1));
};
