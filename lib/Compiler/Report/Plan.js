// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan as the page has it, and what follows from it: who makes and reads what.

const kStream = {compute: 0, swapIn: 1, swapOut: 2, communicate: 3, fileIn: 4, fileOut: 5};

class Plan {
  constructor(data, label, measured) {
    this.label = label;
    this.measured = measured;
    Object.assign(this, data);
    const {operators, tensors, commands, residencies} = this;
    const lists = length => Array.from({length}, () => []);
    this.maker = new Int32Array(tensors.name.length).fill(-1);
    this.readers = lists(tensors.name.length);
    operators.outputs.forEach((outputs, op) => outputs.forEach(tensor => { this.maker[tensor] = op; }));
    operators.inputs.forEach((inputs, op) => new Set(inputs).forEach(tensor => this.readers[tensor].push(op)));

    this.launches = lists(operators.name.length);
    this.copies = lists(tensors.name.length);
    this.rows = lists(this.streams.length);
    this.creator = new Int32Array(residencies.tensor.length).fill(-1);
    this.readersOfStay = lists(residencies.tensor.length);
    commands.operator.forEach((op, command) => {
      this.rows[commands.stream[command]].push(command);
      commands.writes[command].forEach(written => { this.creator[written] = command; });
      commands.reads[command].forEach(read => this.readersOfStay[read].push(command));
      if (op >= 0) this.launches[op].push(command);
      else this.copies[residencies.tensor[commands.reads[command][0]]].push(command);
    });
    // The nth of its tensor's copies, by their starts.
    this.copyNumber = new Map();
    this.copies.forEach(copies => copies.sort((a, b) => commands.startNs[a] - commands.startNs[b]).forEach(
        (copy, i) => this.copyNumber.set(copy, i + 1)));
    this.stays = lists(tensors.name.length);
    residencies.tensor.forEach((tensor, stay) => { if (tensor >= 0) this.stays[tensor].push(stay); });
    this.stallOf = new Map(this.stalls.command.map((command, i) => [command, i]));
    this.whyOf = new Map(this.why.tensor.map((tensor, i) => [tensor, i]));
    this.operatorOf = new Map(operators.name.map((name, i) => [name, i]));
    this.tensorOf = new Map(tensors.name.map((name, i) => [name, i]));
    // An operator runs from its first launch.
    this.startNs = this.launches.map(launches => launches.length ? commands.startNs[launches[0]] : 0);
    this.timeNs = this.launches.map(
        launches => launches.length ? commands.endNs[launches[0]] - commands.startNs[launches[0]] : 0);
  }

  isLaunch(command) { return this.commands.operator[command] >= 0; }
  // What a copy moves.
  tensorOfCopy(command) { return this.residencies.tensor[this.commands.reads[command][0]]; }
  tookNs(command) { return this.commands.endNs[command] - this.commands.startNs[command]; }
  memoryName(stay) { return this.memories[this.residencies.memory[stay]].name; }
  commandName(command) {
    return this.isLaunch(command) ? this.operators.name[this.commands.operator[command]] :
                                    this.tensors.name[this.tensorOfCopy(command)];
  }
  commandText(command) {
    if (this.isLaunch(command)) return this.commandName(command);
    const {reads, writes} = this.commands;
    return this.copyText(command) + ' of ' + this.commandName(command) + ' from ' + this.memoryName(reads[command][0]) + ' to ' +
        this.memoryName(writes[command][0]);
  }
  // 'copy 1 of 2' where the tensor is copied several times.
  copyText(copy) {
    const count = this.copies[this.tensorOfCopy(copy)].length;
    return count > 1 ? 'copy ' + this.copyNumber.get(copy) + ' of ' + count : 'copy';
  }
  // What a launch with a stall waited for, what that waited for and so on, to a command of its own stream.
  chainOf(command) {
    const {waits, heldBy, endNs, stream} = this.commands, chain = [];
    const first = waits[command].reduce((last, wait) => last < 0 || endNs[wait] > endNs[last] ? wait : last, -1);
    for (let held = first; held >= 0; held = heldBy[held]) {
      chain.push(held);
      if (stream[held] === stream[command]) break;
    }
    return chain;
  }
  spanText(from, to) { return spanText(from, to, this.makespanNs); }
  // A workspace is written by the launch that it is for.
  stayName(stay) {
    const tensor = this.residencies.tensor[stay];
    return tensor >= 0 ? this.tensors.name[tensor] : 'workspace of ' + this.commandName(this.creator[stay]);
  }

  // The stays of others on a copied tensor's bytes while it was away, in time's order.
  guestStays(tensor) {
    const {memory, home, offset, bytes, startNs, endNs} = this.residencies, found = new Set();
    for (const [place, from, to] of this.whyOf.has(tensor) ? this.why.absences[this.whyOf.get(tensor)] : []) {
      const low = offset[place], high = low + bytes[place], here = [];
      for (let stay = 0; stay < memory.length; ++stay)
        if (memory[stay] === memory[place] && !home[stay] && this.residencies.tensor[stay] !== tensor && offset[stay] < high &&
            offset[stay] + bytes[stay] > low && startNs[stay] < to && endNs[stay] > from)
          here.push(stay);
      here.sort((a, b) => startNs[a] - startNs[b] || a - b).forEach(stay => found.add(stay));
    }
    return [...found];
  }
  // Who they are: each once, by its first stay there.
  guests(tensor) {
    const known = new Set();
    return this.guestStays(tensor).filter(stay => {
      const name = this.residencies.tensor[stay] >= 0 ? this.residencies.tensor[stay] : 'workspace ' + this.creator[stay];
      return !known.has(name) && known.add(name);
    });
  }

  // What a selection touches: `main` is the thing itself, `near` what makes, reads or copies it, has its bytes while it is
  // away, or is what the stall before it goes to.
  lit(selection) {
    const main = {operators: new Set(), tensors: new Set(), commands: new Set(), stays: new Set()};
    const near = {operators: new Set(), tensors: new Set(), commands: new Set(), stays: new Set()};
    if (!selection) return null;
    const {kind, index} = selection;
    const addLaunch = command => [this.commands.reads[command], this.commands.writes[command]].forEach(
        stays => stays.forEach(stay => main.stays.add(stay)));
    const addStall = command => {
      if (!this.stallOf.has(command)) return;
      for (const held of this.stalls.during[this.stallOf.get(command)]) {
        near.commands.add(held);
        [this.commands.reads[held], this.commands.writes[held]].forEach(
            stays => stays.forEach(stay => near.stays.add(stay)));
        if (this.isLaunch(held)) near.operators.add(this.commands.operator[held]);
        else near.tensors.add(this.tensorOfCopy(held));
      }
    };
    if (kind === 'tensor' || kind === 'command' && !this.isLaunch(index)) {
      const tensor = kind === 'tensor' ? index : this.tensorOfCopy(index);
      main.tensors.add(tensor);
      this.stays[tensor].forEach(stay => main.stays.add(stay));
      this.guestStays(tensor).forEach(stay => near.stays.add(stay));
      this.copies[tensor].forEach(copy => (kind === 'tensor' || copy === index ? main : near).commands.add(copy));
      [...this.readers[tensor], ...(this.maker[tensor] >= 0 ? [this.maker[tensor]] : [])].forEach(op => {
        near.operators.add(op);
        this.launches[op].forEach(launch => near.commands.add(launch));
      });
    } else {
      const op = kind === 'operator' ? index : this.commands.operator[index];
      main.operators.add(op);
      [...this.operators.inputs[op], ...this.operators.outputs[op]].forEach(tensor => near.tensors.add(tensor));
      this.launches[op].forEach(launch => {
        const isMain = kind === 'operator' || launch === index;
        (isMain ? main : near).commands.add(launch);
        if (isMain) addLaunch(launch);
        if (isMain) addStall(launch);
      });
    }
    return {main, near};
  }

  // The same thing in this plan, of a selection in another.
  translate(selection, from) {
    if (!selection || from === this) return selection;
    const {kind, index} = selection;
    const ofOperator = op => this.operatorOf.get(from.operators.name[op]);
    const ofTensor = tensor => this.tensorOf.get(from.tensors.name[tensor]);
    const isOperator = kind === 'operator' || kind === 'command' && from.isLaunch(index);
    const found = kind === 'operator' ? ofOperator(index) :
        kind === 'tensor'             ? ofTensor(index) :
        isOperator                    ? ofOperator(from.commands.operator[index]) :
                                        ofTensor(from.tensorOfCopy(index));
    return found === undefined ? null : {kind: isOperator ? 'operator' : 'tensor', index: found};
  }
}
