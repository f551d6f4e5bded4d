// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A memory over time: the bytes in use, and the arena as a map of addresses.

const isShown = memory => memory.plannedBytes > 0 || memory.samples.length > 0;

// The index of the last sample at or before a time.
const sampleAt = (samples, time) => {
  let low = 0, high = samples.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (samples[middle][0] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
};

const memoryTitle = ({name, plannedBytes, limitBytes, minimumBytes}) =>
    name + ': ' + bytesText(plannedBytes) + ' planned, ' +
    (limitBytes === null ? 'no limit' : 'the limit is ' + bytesText(limitBytes)) +
    (minimumBytes > 0 ? ', the largest operator alone needs ' + bytesText(minimumBytes) : '');

const drawMemory = (chart, plan, memory) => {
  const kHeight = 150, kTop = 20;
  chart.begin(kHeight);
  const {samples, limitBytes, peakBytes} = memory;
  const highest = Math.max(memory.plannedBytes, peakBytes, 1);
  const isLimited = limitBytes !== null && limitBytes < 3 * highest;
  const top = 1.06 * Math.max(highest, isLimited ? limitBytes : 0);
  const y = bytes => kHeight - 6 - bytes / top * (kHeight - 6 - kTop);
  for (let i = 0; i <= 4; ++i) {
    const bytes = Math.round(top * i / 4);
    chart.line(kLeft - 4, y(bytes), chart.right, y(bytes), colours.line);
    chart.text(bytesText(bytes), kLeft - 8, y(bytes) + (i === 4 ? 9 : i === 0 ? -1 : 4), {align: 'right'});
  }
  const first = Math.max(sampleAt(samples, view.from), 0);
  const pen = chart.pen;
  pen.beginPath();
  pen.moveTo(kLeft, y(0));
  let level = first < samples.length && samples[first][0] <= view.from ? samples[first][1] : 0;
  pen.lineTo(kLeft, y(level));
  let column = -1, high = 0;
  for (let i = first; i < samples.length && samples[i][0] <= view.to; ++i) {
    const [time, bytes] = samples[i];
    const at = Math.max(chart.x(time), kLeft), pixel = Math.floor(at);
    // Of many changes in a pixel the highest is drawn.
    if (column !== pixel) pen.lineTo(at, y(level));
    if (column !== pixel || bytes > high) {
      pen.lineTo(at, y(bytes));
      high = bytes;
    }
    column = pixel;
    level = bytes;
  }
  const last = Math.min(chart.x(plan.makespanNs), chart.right);
  pen.lineTo(last, y(level));
  pen.lineTo(last, y(0));
  pen.closePath();
  pen.globalAlpha = 0.25;
  pen.fillStyle = colours.in;
  pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = colours.in;
  pen.stroke();
  const marks = [];
  const mark = (bytes, colour, dashes, text) => {
    chart.line(kLeft, y(bytes), chart.right, y(bytes), colour, dashes);
    marks.push({y: y(bytes) - 3, text: text + ' ' + bytesText(bytes)});
  };
  if (peakBytes > 0) mark(peakBytes, colours.many, [2, 3], 'peak if nothing were copied out');
  if (isLimited) mark(limitBytes, colours.limit, [6, 3], 'limit');
  chart.column(marks, chart.right, {align: 'right', top: kTop + 3, bottom: kHeight - 8});
  chart.textAt = event => {
    if (chart.drag) return '';
    const time = chart.timeAt(event), at = sampleAt(samples, time);
    return bytesText(at < 0 ? 0 : samples[at][1]) + ' of ' + memory.name + ' in use at ' + timeText(time);
  };
  drawSelectedStays(chart, plan, memory, y);
};

// When the selection lies in this memory, at the height of its own bytes.
const drawSelectedStays = (chart, plan, memory, y) => {
  const {residencies} = plan, lit = lits[plans.indexOf(plan)];
  if (!selection || !lit) return;
  for (const stay of lit.main.stays)
    if (!residencies.home[stay] && plan.memories[residencies.memory[stay]] === memory)
      chart.span({from: residencies.startNs[stay], to: residencies.endNs[stay], y: y(residencies.bytes[stay]),
                  h: Math.max(y(0) - y(residencies.bytes[stay]), 3), colour: stayColour(plan, stay), level: 1, name: '',
                  text: () => stayText(plan, stay), act: () => selectStay(plan, stay)});
};

const stayColour = (plan, stay) => {
  const tensor = plan.residencies.tensor[stay];
  if (tensor < 0) return colours.workspace;
  const kind = plan.tensorKinds[plan.tensors.kind[tensor]];
  return kind === 'parameter' ? colours.parameter : kind.includes('state') ? colours.state : colours.activation;
};
const stayText = (plan, stay) => {
  const {offset, bytes, startNs, endNs} = plan.residencies;
  return plan.stayName(stay) + '\nbytes ' + countText(offset[stay]) + ' to ' + countText(offset[stay] + bytes[stay]) +
      ', ' + bytesText(bytes[stay]) + '\n' + plan.spanText(startNs[stay], endNs[stay]);
};
const selectStay = (plan, stay) => {
  const tensor = plan.residencies.tensor[stay];
  if (tensor >= 0) select(plan, 'tensor', tensor);
  else select(plan, 'operator', plan.commands.operator[plan.creator[stay]]);
};

// The map has a window of addresses too: a drag over a height selects it, Alt and the wheel zoom.
class MapChart extends TimeChart {
  constructor(holder, memory) {
    super(holder, 'Map of the arena of ' + memory.name);
    this.whole = Math.max(memory.plannedBytes, 1);
    this.reset();
  }

  static kHeight = 260;
  static kTop = 18;
  reset() { this.bytes = {from: 0, to: this.whole}; }
  y(bytes) {
    const {from, to} = this.bytes;
    return MapChart.kHeight - 4 - (bytes - from) / (to - from) * (MapChart.kHeight - 4 - MapChart.kTop);
  }
  bytesAt(clientY) {
    const share = (MapChart.kHeight - 4 - (clientY - this.canvas.getBoundingClientRect().top)) / (MapChart.kHeight - 4 - MapChart.kTop);
    return this.bytes.from + Math.min(Math.max(share, 0), 1) * (this.bytes.to - this.bytes.from);
  }
  showBytes(from, to) {
    const width = Math.min(Math.max(to - from, 64), this.whole);
    this.bytes.from = Math.min(Math.max(from, 0), this.whole - width);
    this.bytes.to = this.bytes.from + width;
    redraw();
  }
  dragged(from, to) {
    if (Math.abs(to - from) > 24) this.showBytes(...[this.bytesAt(from), this.bytesAt(to)].sort((a, b) => a - b));
  }
  zoomUp(event) {
    const middle = this.bytesAt(event.clientY), factor = event.deltaY > 0 ? 1.25 : 0.8, {from, to} = this.bytes;
    this.showBytes(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }
  shade() {
    if (!this.drag || Math.abs(this.drag.toY - this.drag.y) <= 24) return super.shade();
    const top = this.canvas.getBoundingClientRect().top;
    return [Math.min(this.drag.y, this.drag.toY) - top, Math.max(this.drag.y, this.drag.toY) - top];
  }
}

// A rectangle is a residency: its times across, its addresses up.
const drawMap = (chart, plan, memory) => {
  chart.begin(MapChart.kHeight);
  const {residencies} = plan;
  const y = bytes => chart.y(bytes);
  for (let i = 0; i <= 4; ++i) {
    const bytes = Math.round(chart.bytes.from + (chart.bytes.to - chart.bytes.from) * i / 4);
    chart.line(kLeft - 4, y(bytes), chart.right, y(bytes), colours.line);
    chart.text(bytesText(bytes), kLeft - 8, y(bytes) + (i === 4 ? 9 : i === 0 ? -1 : 4), {align: 'right'});
  }
  chart.text(memory.name.slice(0, 9), 0, 34);
  // What is lit comes last, over what is not.
  const ordered = selection ? [0, 1, 2].flatMap(level => memory.stays.filter(stay => litLevel(plan, 'stays', stay) === level)) :
                              memory.stays;
  for (const stay of ordered) {
    const low = residencies.offset[stay], high = low + residencies.bytes[stay];
    if (low >= chart.bytes.to || high <= chart.bytes.from) continue;
    const top = Math.max(y(high), MapChart.kTop);
    chart.span({from: residencies.startNs[stay], to: residencies.endNs[stay], y: top,
                h: Math.min(y(low), MapChart.kHeight - 4) - top, colour: stayColour(plan, stay), level: litLevel(plan, 'stays', stay), name: plan.stayName(stay),
                text: () => stayText(plan, stay), act: () => selectStay(plan, stay)});
  }
};
