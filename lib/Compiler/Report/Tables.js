// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables that sort, filter and turn pages, whose rows select.

const kPage = 100, kPrinted = 25;

class Table {
  // `entries` have the columns' keys and `index`; `kind` is what a row selects, of `plan`; `note` is the key of a text.
  constructor(holder, plan, kind, columns, entries, note) {
    Object.assign(this, {plan, kind, columns, entries, note, sorted: entries, hits: entries, by: -1, up: true, page: 0});
    this.body = html('tbody');
    this.count = html('span');
    this.printed = html('p', {className: 'printed'});
    this.find = html('input', {placeholder: 'filter', type: 'search', ariaLabel: 'filter ' + holder.id});
    const turn = (textContent, ariaLabel, by) => {
      const button = html('button', {textContent, ariaLabel});
      button.addEventListener('click', () => { this.page += by; this.fill(); });
      return button;
    };
    this.back = turn('‹', 'page before', -1);
    this.next = turn('›', 'page after', 1);
    this.heads = columns.map((column, i) => {
      const head = html('th', {className: column.text ? 'number' : '', scope: 'col'});
      const button = html('button', {textContent: column.title, className: 'sorts'});
      button.addEventListener('click', () => this.sort(i));
      head.append(button);
      return head;
    });
    this.find.addEventListener('input', () => { this.page = 0; this.filter(); });
    const choose = event => {
      const row = event.target.closest('tr');
      if (row && !String(getSelection())) select(plan, kind, Number(row.dataset.index));
    };
    this.body.addEventListener('click', choose);
    this.body.addEventListener('keydown', event => { if (event.key === 'Enter') choose(event); });
    holder.append(this.printed, html('div', {className: 'tools'}, this.find, this.back, this.count, this.next),
                  html('div', {className: 'scroll', tabIndex: 0},
                       html('table', {}, html('thead', {}, html('tr', {}, ...this.heads)), this.body)));
    followers.push(() => this.follow());
    this.fill();
  }

  sort(i) {
    const {key, text} = this.columns[i];
    this.up = this.by === i ? !this.up : !text;
    this.by = i;
    this.heads.forEach((head, at) => { head.ariaSort = at !== i ? null : this.up ? 'ascending' : 'descending'; });
    this.sorted = [...this.entries].sort((a, b) => (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0) * (this.up ? 1 : -1));
    this.page = 0;
    this.filter();
  }

  filter() {
    const wanted = this.find.value.toLowerCase();
    const keys = [...this.columns.map(({key}) => key), ...(this.note ? [this.note] : [])];
    this.hits = this.sorted.filter(
        entry => !wanted || keys.some(key => String(entry[key]).toLowerCase().includes(wanted)));
    this.fill();
  }

  fill() {
    const pages = Math.max(Math.ceil(this.hits.length / kPage), 1);
    this.page = Math.min(Math.max(this.page, 0), pages - 1);
    const first = this.page * kPage, listed = this.hits.slice(first, first + kPage);
    this.body.replaceChildren(...listed.flatMap(entry => {
      const row = html('tr', {tabIndex: 0}, ...this.columns.map(({key, text, short}) => html('td', {
        textContent: text ? text(entry[key]) : entry[key], className: text ? 'number' : short ? 'short' : ''})));
      row.dataset.index = entry.index;
      if (!this.note) return [row];
      // A long text has a line of its own below the figures.
      const note = html('tr', {className: 'note'}, html('td', {colSpan: this.columns.length, textContent: entry[this.note]}));
      note.dataset.index = entry.index;
      return [row, note];
    }));
    this.count.textContent = (listed.length ? countText(first + 1) + ' to ' + countText(first + listed.length) : 'none') +
        ' of ' + countText(this.hits.length) +
        (this.hits.length < this.entries.length ? ', filtered from ' + countText(this.entries.length) : '');
    this.printed.textContent = listed.length > kPrinted ?
        'The first ' + kPrinted + ' of ' + countText(this.hits.length) + ' rows.' : '';
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page === pages - 1;
    this.back.hidden = this.next.hidden = pages === 1;
    this.mark();
  }

  wanted() {
    const lit = lits[plans.indexOf(this.plan)];
    const what = {operator: 'operators', tensor: 'tensors', command: 'commands'}[this.kind];
    return {main: lit && selection ? lit.main[what] : new Set(), near: lit && selection ? lit.near[what] : new Set()};
  }

  mark() {
    const {main, near} = this.wanted();
    for (const row of this.body.children) {
      const index = Number(row.dataset.index);
      row.classList.toggle('main', main.has(index));
      row.classList.toggle('near', !main.has(index) && near.has(index));
      if (main.has(index)) row.ariaSelected = 'true';
      else row.removeAttribute('aria-selected');
    }
  }

  // Turns to the page of the selection.
  follow() {
    const {main} = this.wanted();
    const at = main.size ? this.hits.findIndex(entry => main.has(entry.index)) : -1;
    if (at >= 0 && Math.floor(at / kPage) !== this.page) {
      this.page = Math.floor(at / kPage);
      this.fill();
    }
    this.mark();
    const row = this.body.querySelector('.main');
    if (!row) return;
    const frame = row.closest('.scroll'), top = row.offsetTop;
    if (top < frame.scrollTop + 30 || top + row.offsetHeight > frame.scrollTop + frame.clientHeight)
      frame.scrollTop = top - frame.clientHeight / 3;
  }
}

const copiedTensors = plan => plan.why.tensor.map((tensor, i) => {
  const isOut = copy => [kStream.swapOut, kStream.fileOut].includes(plan.streams[plan.commands.stream[copy]][1]);
  const copies = plan.copies[tensor], bytes = plan.tensors.bytes[tensor], out = copies.filter(isOut).length;
  return {index: tensor, name: plan.tensors.name[tensor], kind: plan.tensorKinds[plan.tensors.kind[tensor]],
          leftNs: plan.why.leftNs[i], backNs: plan.why.backNs[i], slackNs: Math.min(...copies.map(copy => plan.commands.slackNs[copy])), bytes, copiesIn: copies.length - out, copiesOut: out,
          movedBytes: bytes * copies.length, why: plan.why.text[i]};
}).sort((a, b) => b.movedBytes - a.movedBytes);

const makeTables = plan => {
  new Table(byId('swaps'), plan, 'tensor', [
    {title: 'tensor', key: 'name'}, {title: 'kind', key: 'kind', short: true},
    {title: 'size', key: 'bytes', text: bytesText}, {title: 'in', key: 'copiesIn', text: countText},
    {title: 'out', key: 'copiesOut', text: countText}, {title: 'moved', key: 'movedBytes', text: bytesText},
    {title: 'left', key: 'leftNs', text: optionalTimeText}, {title: 'back', key: 'backNs', text: optionalTimeText},
    {title: 'slack', key: 'slackNs', text: timeText},
  ], copiedTensors(plan), 'why');
  new Table(byId('stalls'), plan, 'command', [
    {title: 'before', key: 'name'}, {title: 'device', key: 'device', short: true}, {title: 'at', key: 'at', text: timeText},
    {title: 'waits', key: 'ns', text: timeText},
  ], plan.stalls.command.map((command, i) => ({
    index: command, name: plan.commandName(command), device: plan.devices[plan.streams[plan.commands.stream[command]][0]],
    at: plan.commands.startNs[command] - plan.stalls.ns[i], ns: plan.stalls.ns[i], why: plan.stalls.text[i],
  })).sort((a, b) => b.ns - a.ns), 'why');
  const {operators} = plan;
  const measured = plan.measured.map((step, i) => ({
    title: 'measured' + (plan.measured.length > 1 ? ' ' + (i + 1) : ''), key: 'measured' + i, text: timeText}));
  new Table(byId('operators'), plan, 'operator', [
    {title: 'operator', key: 'name'}, {title: 'kind', key: 'kind', short: true}, {title: 'device', key: 'device', short: true},
    {title: 'start', key: 'startNs', text: timeText}, {title: 'time', key: 'timeNs', text: timeText}, ...measured,
    {title: 'again', key: 'again', text: countText}, {title: 'flops', key: 'flops', text: countText},
    {title: 'working set', key: 'workingSetBytes', text: bytesText},
  ], operators.name.map((name, op) => {
    const entry = {index: op, name, kind: plan.kinds[operators.kind[op]], device: plan.devices[operators.device[op]],
                   startNs: plan.startNs[op], timeNs: plan.timeNs[op], again: plan.launches[op].length - 1,
                   flops: operators.flops[op], workingSetBytes: operators.workingSetBytes[op]};
    plan.measured.forEach((step, i) => {
      const launch = plan.launches[op][0];
      entry['measured' + i] = step.endNs[launch] - step.startNs[launch];
    });
    return entry;
  }));
};
