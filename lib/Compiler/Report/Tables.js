// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables that sort, filter and turn pages, whose rows select.

const kPage = 100, kPrinted = 25;
const tables = [];

class Table {
  // `entries` have the columns' keys and `index`; `kind` is what a row selects, of `plan`; `order` is the key of the
  // column by which they are sorted at first; `note` is the key of a text.
  constructor(holder, plan, kind, columns, entries, order, note) {
    Object.assign(this, {plan, kind, columns, entries, note, sorted: entries, hits: entries, by: -1, up: true, page: 0});
    tables.push(this);
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
    this.critical = html('input', {type: 'checkbox'});
    this.critical.addEventListener('change', () => { this.page = 0; this.filter(); });
    const hasSlack = columns.some(({key}) => key === 'slackNs');
    const critical = hasSlack ? [html('label', {}, this.critical, ' without slack only')] : [];
    const choose = event => {
      const row = event.target.closest('tr');
      if (row && !String(getSelection())) select(plan, kind, Number(row.dataset.index));
    };
    this.body.addEventListener('click', choose);
    this.body.addEventListener('keydown', event => { if (event.key === 'Enter') choose(event); });
    holder.append(this.printed, html('div', {className: 'tools'}, this.find, ...critical, this.back, this.count, this.next),
                  html('div', {className: 'scroll', tabIndex: 0},
                       html('table', {}, html('thead', {}, html('tr', {}, ...this.heads)), this.body)));
    followers.push(() => this.follow());
    this.sort(columns.findIndex(({key}) => key === order.key), order.up);
  }

  sort(i, up) {
    const {key, text} = this.columns[i];
    this.up = up ?? (this.by === i ? !this.up : !text);
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
        entry => (!this.critical.checked || entry.slackNs === 0) &&
            (!wanted || keys.some(key => String(entry[key]).toLowerCase().includes(wanted))));
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
        'Rows 1 to ' + kPrinted + ' of ' + countText(this.hits.length) + ', sorted by ' + this.columns[this.by].title +
            (this.up ? ', the least first.' : ', the greatest first.') : '';
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page === pages - 1;
    this.back.hidden = this.next.hidden = pages === 1;
    this.mark();
  }

  // Paper has the first rows.
  beginPrint() {
    this.pageBefore = this.page;
    this.page = 0;
    this.fill();
  }
  endPrint() {
    this.page = this.pageBefore;
    this.fill();
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

// A row for each copy.
const copiesOf = plan => plan.why.tensor.flatMap((tensor, i) => plan.copies[tensor].map((copy, n) => {
  const {startNs, endNs, slackNs, reads, writes} = plan.commands;
  return {index: copy, name: plan.tensors.name[tensor], kind: plan.tensorKinds[plan.tensors.kind[tensor]],
          number: plan.copies[tensor].length > 1 ? n + 1 + ' of ' + plan.copies[tensor].length : '',
          bytes: plan.tensors.bytes[tensor], way: plan.memoryName(reads[copy][0]) + ' to ' + plan.memoryName(writes[copy][0]),
          startNs: startNs[copy], endNs: endNs[copy], slackNs: slackNs[copy], why: plan.why.text[i][n]};
}));

const makeTables = plan => {
  new Table(byId('swaps'), plan, 'command', [
    {title: 'tensor', key: 'name'}, {title: 'copy', key: 'number', short: true}, {title: 'kind', key: 'kind', short: true},
    {title: 'size', key: 'bytes', text: bytesText}, {title: 'way', key: 'way', short: true},
    {title: 'start', key: 'startNs', text: timeText}, {title: 'end', key: 'endNs', text: timeText},
    {title: 'slack', key: 'slackNs', text: timeText},
  ], copiesOf(plan), {key: 'startNs', up: true}, 'why');
  new Table(byId('stalls'), plan, 'command', [
    {title: 'before', key: 'name'}, {title: 'device', key: 'device', short: true}, {title: 'at', key: 'at', text: timeText},
    {title: 'waits', key: 'ns', text: timeText},
  ], plan.stalls.command.map((command, i) => ({
    index: command, name: plan.commandName(command), device: plan.devices[plan.streams[plan.commands.stream[command]][0]],
    at: plan.commands.startNs[command] - plan.stalls.ns[i], ns: plan.stalls.ns[i], why: plan.stalls.text[i],
  })), {key: 'ns', up: false}, 'why');
  const {operators} = plan;
  const measured = plan.measured.map((step, i) => ({
    title: 'measured' + (plan.measured.length > 1 ? ' ' + (i + 1) : ''), key: 'measured' + i, text: timeText}));
  new Table(byId('operators'), plan, 'operator', [
    {title: 'operator', key: 'name'}, {title: 'kind', key: 'kind', short: true}, {title: 'device', key: 'device', short: true},
    {title: 'start', key: 'startNs', text: timeText}, {title: 'time', key: 'timeNs', text: timeText}, ...measured,
    {title: 'slack', key: 'slackNs', text: timeText}, {title: 'again', key: 'again', text: countText}, {title: 'flops', key: 'flops', text: countText},
    {title: 'working set', key: 'workingSetBytes', text: bytesText},
  ], operators.name.map((name, op) => {
    const entry = {index: op, name, kind: plan.kinds[operators.kind[op]], device: plan.devices[operators.device[op]],
                   startNs: plan.startNs[op], timeNs: plan.timeNs[op],
                   slackNs: Math.min(...plan.launches[op].map(launch => plan.commands.slackNs[launch])), again: plan.launches[op].length - 1,
                   flops: operators.flops[op], workingSetBytes: operators.workingSetBytes[op]};
    plan.measured.forEach((step, i) => {
      const launch = plan.launches[op][0];
      entry['measured' + i] = step.endNs[launch] - step.startNs[launch];
    });
    return entry;
  }), {key: 'startNs', up: true});
};
