// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The graph: operators in layers. Drag moves it, Ctrl and the wheel zoom.

const kWide = 150, kHigh = 24, kAcross = 200, kDown = 34;

class GraphChart extends Chart {
  constructor(holder, plan) {
    super(holder, 'Graph: operators in layers, coloured by device');
    this.plan = plan;
    const {layer, row} = plan.operators;
    const perLayer = [];
    layer.forEach(at => { perLayer[at] = (perLayer[at] || 0) + 1; });
    const most = perLayer.reduce((a, b) => Math.max(a, b), 1);
    this.xs = layer.map(at => at * kAcross);
    this.ys = layer.map((at, op) => (row[op] + (most - perLayer[at]) / 2) * kDown);
    this.edges = [];
    plan.maker.forEach((maker, tensor) => {
      if (maker >= 0) plan.readers[tensor].forEach(reader => this.edges.push([maker, reader, tensor]));
    });
    this.size = {x: perLayer.length * kAcross, y: most * kDown};
    this.view = null;
    this.listen();
  }

  get viewHeight() { return Math.min(Math.max(this.size.y + 32, 160), 460); }
  fit() {
    const scale = Math.min(this.holder.clientWidth / this.size.x, this.viewHeight / this.size.y, 1);
    this.view = {x: -8, y: 0, scale};
    this.view.y = this.size.y / 2 - this.viewHeight / 2 / scale;
  }
  // At first as large as its height allows and large enough for names, from the sources on.
  start() {
    this.fit();
    const scale = Math.min(Math.max(this.viewHeight / this.size.y, 0.5), 1);
    if (scale > this.view.scale) this.view = {x: -8 / scale, y: this.size.y / 2 - this.viewHeight / 2 / scale, scale};
  }
  zoom(factor, x, y) {
    const {view} = this, scale = Math.min(Math.max(view.scale * factor, 1e-5), 3);
    view.x += x / view.scale - x / scale;
    view.y += y / view.scale - y / scale;
    view.scale = scale;
    redraw();
  }
  reveal(op) {
    if (!this.view) this.start();
    const {view} = this, width = this.holder.clientWidth;
    const x = (this.xs[op] - view.x) * view.scale, y = (this.ys[op] - view.y) * view.scale;
    if (x >= 0 && x <= width - 40 && y >= 0 && y <= this.viewHeight - 10) return;
    view.x = this.xs[op] + kWide / 2 - width / 2 / view.scale;
    view.y = this.ys[op] + kHigh / 2 - this.viewHeight / 2 / view.scale;
  }

  listen() {
    this.canvas.addEventListener('pointerdown', event => {
      if (event.button !== 0) return;
      this.drag = {x: event.clientX, y: event.clientY, view: {...this.view}, moved: false};
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointermove', event => {
      if (!this.drag) return;
      const x = event.clientX - this.drag.x, y = event.clientY - this.drag.y;
      this.drag.moved = this.drag.moved || Math.abs(x) + Math.abs(y) > 6;
      this.view.x = this.drag.view.x - x / this.view.scale;
      this.view.y = this.drag.view.y - y / this.view.scale;
      redraw();
    });
    this.canvas.addEventListener('pointerup', event => {
      const drag = this.drag;
      this.drag = null;
      if (!drag || drag.moved) return;
      const box = this.hit(event);
      if (box) box.act();
      else clear();
    });
    this.canvas.addEventListener('pointercancel', () => { this.drag = null; });
    this.canvas.addEventListener('dblclick', () => { this.fit(); redraw(); });
    this.canvas.addEventListener('wheel', event => {
      if (!event.ctrlKey) return;
      const area = this.canvas.getBoundingClientRect();
      this.zoom(event.deltaY > 0 ? 0.8 : 1.25, event.clientX - area.left, event.clientY - area.top);
      event.preventDefault();
    }, {passive: false});
  }

  draw() {
    if (!this.view) this.start();
    this.begin(this.viewHeight);
    const {plan, view} = this, {scale} = view;
    const x = op => (this.xs[op] - view.x) * scale, y = op => (this.ys[op] - view.y) * scale;
    const isOutside = (left, right) => right < 0 || left > this.width;
    const bends = scale > 0.25;
    const drawEdges = (colour, width, isWanted) => {
      this.pen.strokeStyle = colour;
      this.pen.lineWidth = width;
      this.pen.beginPath();
      for (const edge of this.edges) {
        if (!isWanted(edge)) continue;
        const a = x(edge[0]) + kWide * scale, b = y(edge[0]) + kHigh / 2 * scale;
        const c = x(edge[1]), d = y(edge[1]) + kHigh / 2 * scale;
        // Edges that are shorter than a pixel do not show.
        if (isOutside(a, c) || Math.abs(c - a) + Math.abs(d - b) < 1) continue;
        const bend = Math.max((c - a) / 2, 20 * scale);
        this.pen.moveTo(a, b);
        if (bends) this.pen.bezierCurveTo(a + bend, b, c - bend, d, c, d);
        else this.pen.lineTo(c, d);
      }
      this.pen.stroke();
      this.pen.lineWidth = 1;
    };
    this.pen.globalAlpha = selection ? 0.25 : 0.6;
    drawEdges(colours.many, 1, () => true);
    this.pen.globalAlpha = 1;
    const lit = lits[plans.indexOf(plan)];
    if (lit) drawEdges(colours.ink, 1.5, ([, , tensor]) => lit.main.tensors.has(tensor) || lit.near.tensors.has(tensor));
    const {operators} = plan;
    for (let op = 0; op < this.xs.length; ++op)
      if (!isOutside(x(op), x(op) + kWide * scale))
        this.box({x: x(op), y: y(op), w: kWide * scale, h: kHigh * scale, colour: deviceColour(operators.device[op]),
                  level: litLevel(plan, 'operators', op), name: operators.name[op],
                  text: () => operators.name[op] + '\n' + plan.kinds[operators.kind[op]] + ' on ' +
                      plan.devices[operators.device[op]] + '\n' + timeText(plan.timeNs[op]) + ', ' +
                      bytesText(operators.workingSetBytes[op]) + ' at once',
                  act: () => select(plan, 'operator', op)});
  }
}
