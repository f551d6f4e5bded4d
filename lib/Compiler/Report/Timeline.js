// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The timeline: a row a stream, below it the same commands as they were measured.

const streamColour = ([device, kind]) => kind === kStream.compute || kind === kStream.communicate ? deviceColour(device) :
    kind === kStream.swapIn || kind === kStream.fileIn ? colours.in : colours.out;

const drawTimeline = (chart, plan) => {
  const kRow = 26, kMeasured = 12;
  const {commands, stalls} = plan;
  const shown = plan.streams.map((stream, i) => i).filter(i => plan.rows[i].length > 0);
  const rowHeight = kRow + kMeasured * plan.measured.length;
  chart.begin(20 + shown.length * rowHeight);
  const commandBox = (command, from, to, y, h, note, stepNs) => chart.span({
    from, to, y, h, colour: streamColour(plan.streams[commands.stream[command]]), name: plan.commandName(command),
    level: litLevel(plan, 'commands', command), act: () => select(plan, 'command', command),
    text: () => plan.commandText(command) + '\n' + note + ' ' + spanText(from, to, stepNs) + ', ' + timeText(to - from),
  });
  shown.forEach((stream, line) => {
    const y = 18 + line * rowHeight;
    chart.text(plan.streams[stream][2].slice(0, 20), 0, y + 15);
    for (const command of plan.rows[stream]) {
      const from = commands.startNs[command];
      if (plan.stallOf.has(command)) {
        const stall = plan.stallOf.get(command);
        chart.span({from: from - stalls.ns[stall], to: from, y: y + 6, h: kRow - 18, colour: colours.limit, name: 'waits',
                    level: litLevel(plan, 'commands', command), act: () => select(plan, 'command', command),
                    text: () => stalls.text[stall]});
      }
      commandBox(command, from, commands.endNs[command], y, kRow - 6, 'planned', plan.makespanNs);
    }
    plan.measured.forEach((step, i) => {
      const top = y + kRow - 5 + i * kMeasured;
      chart.text(step.name.slice(-18), 8, top + 9);
      for (const command of plan.rows[stream])
        if (step.startNs[command] >= 0)
          commandBox(command, step.startNs[command], step.endNs[command], top, kMeasured - 2, 'measured', step.makespanNs);
    });
  });
};
