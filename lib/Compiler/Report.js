// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const kSvg = 'http://www.w3.org/2000/svg';
  const kPalette = ['#3b8f6a', '#7a5fc0', '#b8553f', '#3d7f9c', '#93802a', '#a2467f', '#55713a', '#57618f'];
  const deviceColour = device => kPalette[device % kPalette.length];

  // Text is only ever set as text: names are never markup.
  const html = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const svg = (tag, attributes = {}, text) => {
    const node = document.createElementNS(kSvg, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const titled = (node, text) => { node.append(svg('title', {}, text)); return node; };

  const scaled = (value, step, units, plain) => {
    if (Math.abs(value) < step) return value + ' ' + plain;
    let unit = -1;
    while (Math.abs(value) >= step && unit + 1 < units.length) { value /= step; ++unit; }
    return value.toFixed(2) + ' ' + units[unit];
  };
  const bytesText = value => scaled(value, 1024, ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'], 'B');
  const timeText = value => scaled(value, 1000, ['us', 'ms', 's'], 'ns');
  const countText = value => value.toLocaleString('en');

  const end = Math.max(data.makespanNs, 1);
  const view = {from: 0, to: end};
  const kLeft = 128, kRight = 12;
  const redraws = [];
  const show = (from, to) => {
    const width = Math.min(Math.max(to - from, end / 1e5, 10), end);
    view.from = Math.min(Math.max(from, 0), end - width);
    view.to = view.from + width;
    redraws.forEach(redraw => redraw());
  };

  // Drag selects a span, a double click shows all, Ctrl and the wheel zoom.
  const zooms = holder => {
    const at = event => {
      const box = holder.getBoundingClientRect();
      const share = (event.clientX - box.left - kLeft) / Math.max(box.width - kLeft - kRight, 1);
      return view.from + Math.min(Math.max(share, 0), 1) * (view.to - view.from);
    };
    let start = null;
    holder.addEventListener('mousedown', event => { start = {time: at(event), x: event.clientX}; event.preventDefault(); });
    window.addEventListener('mouseup', event => {
      if (start && Math.abs(event.clientX - start.x) > 6)
        show(Math.min(start.time, at(event)), Math.max(start.time, at(event)));
      start = null;
    });
    holder.addEventListener('dblclick', () => show(0, end));
    holder.addEventListener('wheel', event => {
      const width = view.to - view.from;
      if (event.ctrlKey) {
        const middle = at(event), factor = event.deltaY > 0 ? 1.25 : 0.8;
        show(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
      } else if (event.shiftKey || event.deltaX) {
        const step = (event.deltaX || event.deltaY) / 800 * width;
        show(view.from + step, view.to + step);
      } else {
        return;
      }
      event.preventDefault();
    }, {passive: false});
  };
  const zoomBy = factor => {
    const middle = (view.from + view.to) / 2, half = (view.to - view.from) / 2 * factor;
    show(middle - half, middle + half);
  };
  for (const [id, act] of [['zoom-in', () => zoomBy(0.5)], ['zoom-out', () => zoomBy(2)], ['zoom-all', () => show(0, end)]])
    document.getElementById(id).addEventListener('click', act);

  const frame = (holder, height) => {
    const width = Math.max(holder.clientWidth, 400);
    const picture = svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`});
    const x = time => kLeft + (time - view.from) / (view.to - view.from) * (width - kLeft - kRight);
    for (let i = 0; i <= 5; ++i) {
      const time = view.from + (view.to - view.from) * i / 5;
      picture.append(svg('line', {class: 'axis', x1: x(time), x2: x(time), y1: 14, y2: height}));
      picture.append(svg('text', {x: x(time), y: 10, 'text-anchor': i === 0 ? 'start' : i === 5 ? 'end' : 'middle'},
                         timeText(Math.round(time))));
    }
    holder.replaceChildren(picture);
    return {picture, x, right: width - kRight};
  };

  // Timeline: one row a stream. What is narrower than a pixel is drawn together.
  const kStreams = ['compute', 'swap in', 'swap out', 'communicate'];
  const rows = data.streams.map(() => []);
  for (const command of data.commands) rows[command[0]].push(command);
  rows.forEach(row => row.sort((a, b) => a[1] - b[1]));
  const shown = data.streams.map((stream, i) => i).filter(i => rows[i].length > 0);
  const colourOf = stream => stream[1] === 0 || stream[1] === 3 ? deviceColour(stream[0]) :
      stream[1] === 1 ? 'var(--in)' : 'var(--out)';
  const nameOf = command => command[3] === 0 ? data.operators[command[4]].name : data.copied[command[4]];
  const drawTimeline = () => {
    const holder = document.getElementById('timeline'), kRow = 26;
    const {picture, x, right} = frame(holder, 20 + shown.length * kRow);
    shown.forEach((index, line) => {
      const stream = data.streams[index], y = 18 + line * kRow, colour = colourOf(stream);
      picture.append(svg('text', {x: 0, y: y + 15}, (data.devices[stream[0]] + ' ' + kStreams[stream[1]]).slice(0, 20)));
      let many = null;
      const flush = () => {
        if (!many) return;
        picture.append(titled(svg('rect', {x: many.from, y, width: Math.max(many.to - many.from, 1), height: kRow - 6,
                                           fill: colour, 'fill-opacity': .6}),
                              many.count === 1 ? many.text : countText(many.count) + ' short commands'));
        many = null;
      };
      for (const command of rows[index]) {
        if (command[2] < view.from || command[1] > view.to) continue;
        const from = Math.max(x(command[1]), kLeft), to = Math.min(x(command[2]), right);
        const text = nameOf(command) + '\n' + timeText(command[1]) + ' to ' + timeText(command[2]) + ', ' +
            timeText(command[2] - command[1]) + (command[3] === 1 ? ', ' + bytesText(command[5]) : '');
        if (to - from < 1.5) {
          if (many && from - many.to > 1) flush();
          many = many || {from, to, count: 0, text};
          many.to = Math.max(many.to, to);
          ++many.count;
          continue;
        }
        flush();
        picture.append(titled(svg('rect', {x: from, y, width: to - from, height: kRow - 6, fill: colour,
                                           stroke: 'var(--paper)', 'stroke-width': to - from > 4 ? .7 : 0}), text));
        if (to - from > 46)
          picture.append(svg('text', {class: 'on', x: from + 4, y: y + 14}, nameOf(command).slice(0, Math.floor((to - from - 8) / 6.4))));
      }
      flush();
    });
  };

  // Memory: bytes in use, with the limit wherever it is near enough to see.
  const drawMemory = (memory, holder) => {
    const kHeight = 150, kTop = 20;
    const {picture, x, right} = frame(holder, kHeight);
    const samples = memory.samples, peak = Math.max(memory.plannedBytes, memory.peakBytes, 1);
    const limited = memory.limitBytes !== null && memory.limitBytes < 3 * peak;
    const top = 1.06 * Math.max(peak, limited ? memory.limitBytes : 0, ...samples.map(sample => sample[1]).slice(0, 1));
    const y = bytes => kHeight - 6 - bytes / top * (kHeight - 6 - kTop);
    let path = '', level = 0, column = null, high = 0;
    const put = (at, bytes) => { path += (path ? 'L' : 'M') + at.toFixed(1) + ' ' + y(bytes).toFixed(1); };
    put(kLeft, 0);
    for (const [time, bytes] of samples) {
      if (time > view.to) break;
      const at = Math.max(x(time), kLeft), pixel = Math.floor(at);
      if (column === pixel) {
        // Many changes in a pixel: its highest is kept.
        if (bytes > high) { put(at, bytes); high = bytes; }
      } else {
        put(at, level);
        put(at, bytes);
        column = pixel;
        high = bytes;
      }
      level = bytes;
    }
    put(Math.min(x(end), right), level);
    put(Math.min(x(end), right), 0);
    picture.append(svg('path', {d: path + 'Z', fill: 'var(--in)', 'fill-opacity': .25, stroke: 'var(--in)'}));
    const line = (bytes, colour, dashes, text, above) => {
      picture.append(svg('line', {x1: kLeft, x2: right, y1: y(bytes), y2: y(bytes), stroke: colour, 'stroke-dasharray': dashes}));
      picture.append(svg('text', {x: right, y: y(bytes) + (above ? -3 : 11), 'text-anchor': 'end'}, text + ' ' + bytesText(bytes)));
    };
    if (memory.peakBytes > 0) line(memory.peakBytes, 'var(--many)', '2 3', 'peak without swapping', true);
    if (limited) line(memory.limitBytes, 'var(--limit)', '6 3', 'limit', memory.limitBytes >= memory.peakBytes);
    picture.append(svg('text', {x: 0, y: 34}, memory.name.slice(0, 20)));
    picture.append(svg('text', {x: 0, y: 50}, 'planned ' + bytesText(memory.plannedBytes)));
    picture.append(svg('text', {x: 0, y: 66}, 'least ' + bytesText(memory.minimumBytes)));
    if (!limited) picture.append(svg('text', {x: 0, y: 82}, memory.limitBytes === null ? 'no limit' : 'limit ' + bytesText(memory.limitBytes)));
  };

  // A table that sorts and filters; long ones show their start.
  const table = (holder, columns, entries) => {
    let sorted = entries, by = -1, up = true, wanted = '', all = false;
    const kFirst = 200;
    const body = html('tbody'), note = html('span');
    const find = html('input', {placeholder: 'filter', type: 'search'});
    const more = html('button', {textContent: 'show all'});
    const fill = () => {
      const hits = sorted.filter(entry => !wanted || columns.some(column => String(entry[column.key]).toLowerCase().includes(wanted)));
      const listed = all ? hits : hits.slice(0, kFirst);
      body.replaceChildren(...listed.map(entry => html('tr', {}, ...columns.map(column => html('td', {
        textContent: column.text ? column.text(entry[column.key]) : entry[column.key], className: column.text ? 'number' : column.short ? 'short' : ''})))));
      note.textContent = countText(listed.length) + ' of ' + countText(entries.length);
      more.hidden = listed.length === hits.length;
    };
    const heads = columns.map((column, i) => {
      const head = html('th', {textContent: column.title, className: 'sorts' + (column.text ? ' number' : '')});
      head.addEventListener('click', () => {
        up = by === i ? !up : !column.text;
        by = i;
        sorted = [...entries].sort((a, b) => {
          const x = a[column.key], y = b[column.key];
          return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
        });
        fill();
      });
      return head;
    });
    find.addEventListener('input', () => { wanted = find.value.toLowerCase(); fill(); });
    more.addEventListener('click', () => { all = true; fill(); });
    holder.append(html('div', {className: 'tools'}, find, note, more),
                  html('div', {className: 'scroll'}, html('table', {}, html('thead', {}, html('tr', {}, ...heads)), body)));
    fill();
  };

  const drawGraph = holder => {
    if (!data.edges) return;
    const kWide = 150, kHigh = 24, kAcross = 200, kDown = 34;
    const perLayer = [];
    for (const op of data.operators) perLayer[op.place[0]] = (perLayer[op.place[0]] || 0) + 1;
    const most = Math.max(...perLayer);
    const position = op => [8 + op.place[0] * kAcross, 8 + (op.place[1] + (most - perLayer[op.place[0]]) / 2) * kDown];
    const picture = svg('svg', {width: perLayer.length * kAcross, height: most * kDown + 16});
    for (const [from, to] of data.edges) {
      const [x1, y1] = position(data.operators[from]), [x2, y2] = position(data.operators[to]);
      const a = x1 + kWide, b = y1 + kHigh / 2, c = x2, d = y2 + kHigh / 2, bend = Math.max((c - a) / 2, 20);
      picture.append(svg('path', {class: 'edge', d: `M${a} ${b}C${a + bend} ${b} ${c - bend} ${d} ${c} ${d}`}));
    }
    for (const op of data.operators) {
      const [x, y] = position(op);
      picture.append(titled(svg('rect', {x, y, width: kWide, height: kHigh, rx: 4, fill: deviceColour(op.device)}),
                            `${op.name}\n${op.kind} on ${data.devices[op.device]}\n${timeText(op.timeNs)}, ${bytesText(op.workingSetBytes)} at once`));
      picture.append(svg('text', {class: 'on', x: x + 6, y: y + 16}, op.name.length > 23 ? '…' + op.name.slice(-22) : op.name));
    }
    holder.append(picture);
  };

  data.memories.forEach(memory => {
    if (memory.samples.length === 0 && memory.plannedBytes === 0) return;
    const holder = html('div');
    document.getElementById('memory').append(holder);
    zooms(holder);
    redraws.push(() => drawMemory(memory, holder));
  });
  zooms(document.getElementById('timeline'));
  redraws.push(drawTimeline);
  const legend = document.getElementById('legend');
  const key = (colour, text) => {
    const mark = html('span', {className: 'key'});
    mark.style.background = colour;
    legend.append(mark, text);
  };
  [...new Set(data.operators.map(op => op.device))].sort().forEach(device => key(deviceColour(device), data.devices[device]));
  key('var(--in)', 'swap in');
  key('var(--out)', 'swap out');

  table(document.getElementById('swaps'), [
    {title: 'tensor', key: 'name'}, {title: 'kind', key: 'kind', short: true}, {title: 'type', key: 'type'},
    {title: 'size', key: 'bytes', text: bytesText}, {title: 'in', key: 'copiesIn', text: countText},
    {title: 'out', key: 'copiesOut', text: countText}, {title: 'moved', key: 'movedBytes', text: bytesText}, {title: 'why', key: 'why'},
  ], data.swaps);
  table(document.getElementById('operators'), [
    {title: 'operator', key: 'name'}, {title: 'kind', key: 'kind', short: true}, {title: 'device', key: 'deviceName', short: true},
    {title: 'start', key: 'startNs', text: timeText}, {title: 'time', key: 'timeNs', text: timeText},
    {title: 'again', key: 'computedAgain', text: countText}, {title: 'flops', key: 'flops', text: countText}, {title: 'working set', key: 'workingSetBytes', text: bytesText},
  ], data.operators.map(op => ({...op, deviceName: data.devices[op.device]})));
  drawGraph(document.getElementById('graph'));
  window.addEventListener('resize', () => redraws.forEach(redraw => redraw()));
  show(0, end);
})();
