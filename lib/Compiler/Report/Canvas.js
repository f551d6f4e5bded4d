// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Drawing on canvases: colours of the style, sharp pixels, boxes that answer the pointer.

const kPalette = ['#3b8f6a', '#7a5fc0', '#b8553f', '#3d7f9c', '#93802a', '#a2467f', '#55713a', '#57618f'];
const deviceColour = device => kPalette[device % kPalette.length];

let colours = {};
const readColours = () => {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['ink', 'soft', 'line', 'paper', 'in', 'out', 'limit', 'many', 'parameter', 'state', 'activation', 'workspace'])
    colours[name] = style.getPropertyValue('--' + name).trim();
};

const tip = byId('tip');
const showTip = (event, text) => {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const right = event.clientX + 16 + tip.offsetWidth > innerWidth;
  tip.style.left = (right ? Math.max(event.clientX - 16 - tip.offsetWidth, 0) : event.clientX + 16) + 'px';
  tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 4) + 'px';
};

// A canvas with boxes. What is smaller than a pixel is drawn once for each pixel, however much lies there, and stands
// for the first of them.
class Chart {
  constructor(holder, label) {
    this.canvas = html('canvas', {tabIndex: 0});
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', label);
    holder.append(this.canvas);
    this.holder = holder;
    this.boxes = [];
    this.texts = [];
    this.canvas.addEventListener('pointermove', event => {
      const box = this.drag ? null : this.hit(event);
      this.canvas.classList.toggle('hits', Boolean(box));
      showTip(event, box ? (box.count > 1 ? countText(box.count) + ' here, the first:\n' : '') + box.text() : this.textAt(event));
    });
    this.canvas.addEventListener('pointerleave', event => showTip(event, ''));
  }

  // What the tip says where there is no box.
  textAt() { return ''; }

  // The box under the pointer that was drawn last.
  hit(event) {
    const area = this.canvas.getBoundingClientRect();
    const x = event.clientX - area.left, y = event.clientY - area.top;
    for (let i = this.boxes.length - 1; i >= 0; --i) {
      const box = this.boxes[i];
      if (x >= box.x - 1 && x <= box.x + box.w + 1 && y >= box.y && y <= box.y + box.h) return box;
    }
    return null;
  }

  begin(height) {
    const width = Math.max(this.holder.clientWidth, 320), sharp = window.devicePixelRatio || 1;
    if (this.width !== width || this.height !== height || this.sharp !== sharp) {
      Object.assign(this, {width, height, sharp});
      this.canvas.width = Math.round(width * sharp);
      this.canvas.height = Math.round(height * sharp);
      this.canvas.style.height = height + 'px';
    }
    this.boxes.length = this.texts.length = 0;
    this.cells = new Map();
    this.pen = this.canvas.getContext('2d');
    this.pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    this.pen.clearRect(0, 0, width, height);
    this.pen.font = '11px system-ui, sans-serif';
    this.pen.globalAlpha = 1;
  }

  // `boxed`: it lies within a box.
  text(text, x, y, {colour = colours.soft, align = 'left', boxed = false} = {}) {
    this.texts.push({text, x, y, align, boxed});
    this.pen.fillStyle = colour;
    this.pen.textAlign = align;
    this.pen.fillText(text, x, y);
  }

  // Texts below one another, each as near to its `y` as the others allow, within a height.
  column(entries, x, {top, bottom, ...style}) {
    const kLine = 12, sorted = [...entries].sort((a, b) => a.y - b.y);
    sorted.forEach((entry, i) => { entry.at = Math.max(entry.y, i ? sorted[i - 1].at + kLine : top); });
    sorted.reverse().forEach((entry, i) => { entry.at = Math.min(entry.at, i ? sorted[i - 1].at - kLine : bottom); });
    for (const {text, at} of sorted) {
      // Lines do not run through it.
      const width = this.pen.measureText(text).width + 4;
      this.pen.globalAlpha = 0.75;
      this.pen.fillStyle = colours.paper;
      this.pen.fillRect(style.align === 'right' ? x - width + 2 : x - 2, at - 10, width, 13);
      this.pen.globalAlpha = 1;
      this.text(text, x, at, style);
    }
  }

  line(x1, y1, x2, y2, colour, dashes = []) {
    this.pen.strokeStyle = colour;
    this.pen.setLineDash(dashes);
    this.pen.beginPath();
    this.pen.moveTo(x1, y1);
    this.pen.lineTo(x2, y2);
    this.pen.stroke();
    this.pen.setLineDash([]);
  }

  // `level` as litLevel() has it; `text` is called for the tip alone.
  box({x, y, w, h, colour, level, name, text, act}) {
    if (w < 1.5 || h < 1.5) {
      const cell = Math.floor(x) + ',' + Math.floor(y) + ',' + Math.max(Math.floor(w), Math.floor(h));
      const known = this.cells.get(cell);
      if (known && level <= known.level) {
        ++known.count;
        return;
      }
      w = Math.max(w, 1);
      h = Math.max(h, 1);
      this.cells.set(cell, this.paint({x, y, w, h, colour, level, text, act}));
      return;
    }
    this.paint({x, y, w, h, colour, level, text, act});
    if (w > 46 && h > 11)
      this.text(nameText(name, Math.floor((w - 8) / 6.4)), x + 4, y + Math.min(h / 2, 60) + 4,
                {colour: level ? '#ffffff' : colours.soft, boxed: true});
  }

  paint({x, y, w, h, colour, level, text, act}) {
    const gap = w > 4 && h > 4 ? 0.6 : 0;
    // Pale boxes over one another stay as pale.
    if (!level) {
      this.pen.fillStyle = colours.paper;
      this.pen.fillRect(x, y, w - gap, h - gap);
    }
    this.pen.globalAlpha = level ? 1 : 0.22;
    this.pen.fillStyle = colour;
    this.pen.fillRect(x, y, w - gap, h - gap);
    this.pen.globalAlpha = 1;
    if (level === 2 && selection) {
      this.pen.strokeStyle = colours.ink;
      this.pen.lineWidth = 2;
      this.pen.strokeRect(x, y, Math.max(w - gap, 1), Math.max(h - gap, 1));
      this.pen.lineWidth = 1;
    }
    const drawn = {x, y, w, h, level, text, act, count: 1};
    this.boxes.push(drawn);
    return drawn;
  }
}

// A chart whose x is time. Drag selects a span, a double click shows all, Ctrl and the wheel zoom.
const kLeft = 128, kRight = 12;
class TimeChart extends Chart {
  constructor(holder, label) {
    super(holder, label);
    const at = event => this.timeAt(event);
    this.canvas.addEventListener('pointerdown', event => {
      if (event.button !== 0) return;
      this.drag = {time: at(event), x: event.clientX, y: event.clientY};
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointermove', event => {
      if (!this.drag) return;
      this.drag.to = at(event);
      this.drag.toY = event.clientY;
      redraw();
    });
    this.canvas.addEventListener('pointerup', event => {
      const drag = this.drag;
      this.drag = null;
      if (!drag) return;
      if (Math.abs(event.clientX - drag.x) > 6) {
        this.dragged(drag.y, event.clientY);
        show(Math.min(drag.time, at(event)), Math.max(drag.time, at(event)));
        return;
      }
      const box = this.hit(event);
      if (box) box.act();
      else clear();
    });
    this.canvas.addEventListener('pointercancel', () => { this.drag = null; redraw(); });
    this.canvas.addEventListener('dblclick', () => showAll());
    this.canvas.addEventListener('wheel', event => {
      if (event.altKey && this.zoomUp) this.zoomUp(event);
      else if (event.ctrlKey) zoomBy(event.deltaY > 0 ? 1.25 : 0.8, at(event));
      else if (event.shiftKey || event.deltaX) panBy((event.deltaX || event.deltaY) / 800);
      else return;
      event.preventDefault();
    }, {passive: false});
  }

  timeAt(event) {
    const area = this.canvas.getBoundingClientRect();
    const share = (event.clientX - area.left - kLeft) / Math.max(area.width - kLeft - kRight, 1);
    return view.from + Math.min(Math.max(share, 0), 1) * (view.to - view.from);
  }
  // What a chart does beside with its other axis after a drag.
  dragged() {}
  // The heights between which a drag is shaded.
  shade() { return [14, this.height]; }
  x(time) { return kLeft + (time - view.from) / (view.to - view.from) * (this.width - kLeft - kRight); }
  get right() { return this.width - kRight; }

  begin(height) {
    super.begin(height);
    for (let i = 0; i <= 5; ++i) {
      const time = view.from + (view.to - view.from) * i / 5;
      this.line(this.x(time), 14, this.x(time), height, colours.line);
      this.text(timeText(time), this.x(time), 10, {align: i === 0 ? 'left' : i === 5 ? 'right' : 'center'});
    }
    if (this.drag && this.drag.to !== undefined) {
      const [from, to] = [this.x(this.drag.time), this.x(this.drag.to)].sort((a, b) => a - b);
      this.pen.globalAlpha = 0.2;
      this.pen.fillStyle = colours.in;
      const [top, bottom] = this.shade();
      this.pen.fillRect(from, top, to - from, bottom - top);
      this.pen.globalAlpha = 1;
    }
  }

  // A box from one time to another, cut to what is shown.
  span({from, to, ...box}) {
    if (to < view.from || from > view.to) return;
    const x = Math.max(this.x(from), kLeft);
    this.box({...box, x, w: Math.min(this.x(to), this.right) - x});
  }
}
