// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The search: the best plan's step over the plans made.

const drawHistory = (chart, plan) => {
  const kHeight = 170, kTop = 16, kBottom = 20;
  chart.begin(kHeight);
  const {history, idealNs, lowerBoundNs} = plan;
  const last = Math.max(plan.evaluations, history[history.length - 1][0], 1);
  const high = 1.05 * Math.max(...history.map(point => point[1]), idealNs);
  const low = 0.95 * Math.min(plan.makespanNs, lowerBoundNs || plan.makespanNs, idealNs || plan.makespanNs);
  const x = count => kLeft + count / last * (chart.width - kLeft - kRight);
  const y = ns => kTop + (high - ns) / (high - low) * (kHeight - kTop - kBottom);
  const marks = [[idealNs, 'without a memory limit'], [lowerBoundNs, 'lower bound']].filter(([ns]) => ns > 0);
  for (const [ns] of marks) chart.line(kLeft, y(ns), chart.width - kRight, y(ns), colours.many, [2, 3]);
  history.forEach(([count, ns], i) => {
    const to = i + 1 < history.length ? history[i + 1][0] : last;
    chart.line(x(count), y(ns), x(to), y(ns), colours.in);
    if (i + 1 < history.length) chart.line(x(to), y(ns), x(to), y(history[i + 1][1]), colours.in);
    chart.box({x: x(count) - 3, y: y(ns) - 3, w: 6, h: 6, colour: colours.in, level: 1, name: '', act: () => {},
               text: () => timeText(ns) + ' after ' + countText(count) + ' plans'});
  });
  chart.text('0', kLeft, kHeight - 6);
  chart.text(countText(last) + ' plans', chart.width - kRight, kHeight - 6, {align: 'right'});
  const within = {top: kTop - 4, bottom: kHeight - kBottom};
  chart.column(marks.map(([ns, text]) => ({y: y(ns) - 3, text: text + ' ' + timeText(ns)})), chart.width - kRight,
               {...within, align: 'right'});
  const first = history[0][1] === plan.makespanNs ? [] : [[history[0][1], 'first ']];
  chart.column([...first, [plan.makespanNs, 'this plan ']].map(
      ([ns, text]) => ({y: y(ns) + 4, text: text + timeText(ns)})), 0, within);
};
