//===- LowerBound.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The link bound. Fix one memory m other than the host's and one operator v.
// When v starts, all its ancestors have run and none of its descendants. Let
//   P  bytes of the parameters and states read in m,
//   K  those of them that the step never copies in: they were there at its start
//      and must be at its end, so they take their bytes all the time; a state
//      that gets a new value counts only while it has readers left in m, or once
//      the new value, which then has to stay, is made in m by an ancestor,
//   A  bytes of other tensors that ancestors touch in m and descendants read in
//      m, and v's operands if it runs in m,
//   R  those of A that are in m when v starts.
// R + K is at most m's capacity C. The step copies P - K of the former in, and
// the A - R that are not there must be copied in after v although they have been
// in m before. So at least P + A - C bytes come in, beside everything that comes
// in for the first time: inputs and what other memories' operators produce.
// Likewise, of the tensors produced in m, those of A that are absent at v have
// left m, beside those that leave anyway: outputs and what others read.
// Operators run once (no recomputation), and v's operands may share buffers only
// where the operator runs in place.
//
// The split bound. What is absent from m when v starts and was made in m has left
// it by then, and what descendants read of the absent enters it from then on. So
// the time before v's start is at least that of the ancestors' work and that of
// copying out D + V - C bytes, the time after it at least that of v's and the
// descendants' work and that of copying in S + V - C bytes, where
//   V  bytes of v's operands but for parameters and states,
//   D  bytes of other tensors made in m by ancestors and read in m by descendants,
//   S  bytes of all tensors that ancestors made or that nobody makes, and that
//      descendants read in m, and of parameters and states that v reads.
// With recomputation D is nothing and S holds parameters and states alone.
//
// The file bound. Let C be the capacities of all memories that are no files, where
// homes count. When v starts, at least F = D + V + U - C bytes are in files, where D
// and V are as above, of all memories, and U is the bytes of states that are read to
// be updated, whose old or new value is somewhere at any time. Of these, D + V - C were written to files
// before v starts and are read after. A state that is in a file at v is read in some
// time in the step, and its new value is written before v starts in the next step;
// so the step reads and writes F bytes of files at least. With recomputation D is
// nothing.
//
//===----------------------------------------------------------------------===//

#include "sluice/Search/LowerBound.h"

#include "sluice/Search/Orders.h"
#include "sluice/Support/Units.h"

#include <algorithm>

namespace sluice {

int64_t LowerBounds::always() const { return std::max({computeNs, pathNs, recomputeNs}); }
int64_t LowerBounds::once() const { return std::max({always(), linkNs, splitNs}); }

namespace {

constexpr size_t kMaxMoments = 256, kMinMoments = 16;
/// Operators and tensors looked at for all moments together: about a second.
constexpr size_t kMaxVisits = 10'000'000;

class Bounder {
public:
  Bounder(const Graph &graph, const Machine &machine, const CostTable &costs, std::span<const int64_t> capacities,
          std::span<const DeviceId> placement)
      : graph(graph), machine(machine), costs(costs), capacities(capacities), placement(placement),
        topological(modelOrder(graph)), newValue(graph.numTensors()) {
    for (uint32_t i = 0; i < graph.numTensors(); ++i)
      if (TensorId old = graph.tensor(TensorId(i)).updates; old.valid())
        newValue[old.index()] = TensorId(i);
  }

  LowerBounds solve() {
    LowerBounds bounds;
    measurePaths();
    bounds.computeNs = computeNs();
    bounds.pathNs = pathNs();
    bounds.recomputeNs = std::max(bounds.computeNs, bounds.pathNs);
    for (uint32_t m = 1; m < machine.memories.size(); ++m)
      if (!machine.isFile(MemoryId(m)))
        boundLinks(MemoryId(m), bounds);
    if (machine.hasFiles())
      boundFiles(bounds);
    return bounds;
  }

private:
  MemoryId memoryOf(OperatorId op) const { return machine.device(placement[op.index()]).memory; }
  /// May be in a memory when the step starts.
  static bool persistent(const Tensor &tensor) {
    return !tensor.producer.valid() && (tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::State);
  }

  /// One copy out of `from` and one into `to` at least; the same where the two
  /// are linked.
  int64_t moveNs(MemoryId from, MemoryId to, int64_t bytes) const {
    if (from == to)
      return 0;
    int64_t leave = std::numeric_limits<int64_t>::max(), enter = leave;
    for (const Link &link : machine.links) {
      if (link.a == from || link.b == from)
        leave = std::min(leave, transferTimeNs(link, bytes));
      if (link.a == to || link.b == to)
        enter = std::min(enter, transferTimeNs(link, bytes));
    }
    return machine.findLink(from, to).valid() ? std::max(leave, enter) : saturatingAdd(leave, enter);
  }

  /// Earliest starts, and least times from operators' ends to the step's.
  void measurePaths() {
    heads.assign(graph.numOperators(), 0);
    tails.assign(graph.numOperators(), 0);
    auto timeNs = [&](OperatorId op) { return costs.timeNs(op, placement[op.index()]); };
    for (OperatorId op : topological)
      for (TensorId input : graph.op(op).inputs) {
        const Tensor &tensor = graph.tensor(input);
        int64_t &head = heads[op.index()];
        if (OperatorId before = tensor.producer; before.valid())
          head = std::max(head, saturatingAdd(saturatingAdd(heads[before.index()], timeNs(before)),
                                              moveNs(memoryOf(before), memoryOf(op), tensor.bytes)));
        else if (tensor.kind == TensorKind::Input)
          head = std::max(head, moveNs(Machine::hostMemory(), memoryOf(op), tensor.bytes));
      }
    for (size_t i = topological.size(); i-- > 0;) {
      OperatorId op = topological[i];
      int64_t &tail = tails[op.index()];
      for (TensorId output : graph.op(op).outputs) {
        const Tensor &tensor = graph.tensor(output);
        for (OperatorId after : tensor.consumers)
          tail = std::max(tail, saturatingAdd(moveNs(memoryOf(op), memoryOf(after), tensor.bytes),
                                              saturatingAdd(timeNs(after), tails[after.index()])));
        if (tensor.isOutput)
          tail = std::max(tail, moveNs(memoryOf(op), Machine::hostMemory(), tensor.bytes));
      }
    }
  }

  int64_t pathNs() const {
    int64_t longest = 0;
    for (OperatorId op : topological)
      longest = std::max(longest, saturatingAdd(saturatingAdd(heads[op.index()], tails[op.index()]),
                                                costs.timeNs(op, placement[op.index()])));
    return longest;
  }

  /// What a device does one after the other: computing, and communicating beside it.
  size_t loadOf(OperatorId op) const { return 2 * placement[op.index()].index() + graph.op(op).communicates; }

  /// A device starts no sooner than the first of its operators can, and after
  /// the last the least of their tails remains.
  int64_t computeNs() const {
    constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    struct Load {
      int64_t work = 0, head = kNever, tail = kNever;
    };
    std::vector<Load> loads(2 * machine.devices.size());
    for (OperatorId op : topological) {
      Load &load = loads[loadOf(op)];
      load.work = saturatingAdd(load.work, costs.timeNs(op, placement[op.index()]));
      load.head = std::min(load.head, heads[op.index()]);
      load.tail = std::min(load.tail, tails[op.index()]);
    }
    int64_t most = 0;
    for (const Load &load : loads)
      if (load.work > 0)
        most = std::max(most, saturatingAdd(saturatingAdd(load.head, load.work), load.tail));
    return most;
  }

  enum Side : char { Neither, Ancestor, Self, Descendant };

  std::vector<Side> sidesOf(OperatorId v) const {
    std::vector<Side> side(graph.numOperators(), Neither);
    std::vector<OperatorId> stack;
    auto flood = [&](Side value, auto neighbours) {
      stack.push_back(v);
      while (!stack.empty()) {
        OperatorId op = stack.back();
        stack.pop_back();
        neighbours(op, [&](OperatorId next) {
          if (side[next.index()] == Neither) {
            side[next.index()] = value;
            stack.push_back(next);
          }
        });
      }
    };
    side[v.index()] = Self;
    flood(Ancestor, [&](OperatorId op, auto visit) {
      for (TensorId input : graph.op(op).inputs)
        if (OperatorId producer = graph.tensor(input).producer; producer.valid())
          visit(producer);
    });
    flood(Descendant, [&](OperatorId op, auto visit) {
      for (TensorId output : graph.op(op).outputs)
        for (OperatorId reader : graph.tensor(output).consumers)
          visit(reader);
    });
    return side;
  }

  /// Operands of `op` other than those persistentBytes counts; pairs that run in
  /// place once.
  int64_t operandBytes(OperatorId id) const {
    const Operator &op = graph.op(id);
    int64_t bytes = op.workspaceBytes;
    for (TensorId output : op.outputs)
      bytes = saturatingAdd(bytes, graph.tensor(output).bytes);
    for (TensorId input : op.inputs)
      if (const Tensor &tensor = graph.tensor(input); !persistent(tensor) && !tensor.updates.valid())
        bytes = saturatingAdd(bytes, tensor.bytes);
    std::vector<char> counted(op.outputs.size(), 0);
    for (auto [input, output] : op.inPlace)
      if (output < counted.size() && !counted[output]) {
        counted[output] = 1;
        bytes -= graph.tensor(op.outputs[output]).bytes;
      }
    return bytes;
  }

  bool readIn(MemoryId m, const Tensor &tensor) const {
    return std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                       [&](OperatorId reader) { return memoryOf(reader) == m; });
  }

  /// P at the moment `side` describes.
  int64_t persistentBytes(MemoryId m, std::span<const uint32_t> persistents, const std::vector<Side> &side) const {
    int64_t bytes = 0;
    for (uint32_t i : persistents) {
      const Tensor &tensor = graph.tensor(TensorId(i));
      int64_t counted = tensor.bytes;
      if (newValue[i].valid()) {
        const Tensor &next = graph.tensor(newValue[i]);
        bool readLater = std::any_of(tensor.consumers.begin(), tensor.consumers.end(), [&](OperatorId reader) {
          return memoryOf(reader) == m && (side[reader.index()] == Self || side[reader.index()] == Descendant);
        });
        bool replaced =
            next.producer.valid() && memoryOf(next.producer) == m && side[next.producer.index()] == Ancestor;
        if (!readLater)
          counted = replaced ? std::min(counted, next.bytes) : 0;
      }
      bytes = saturatingAdd(bytes, counted);
    }
    return bytes;
  }

  /// What memory m must take and give, in bytes.
  struct Traffic {
    int64_t in = 0, out = 0;
  };

  /// A part in 10^9 less: the simulator rounds events to whole nanoseconds.
  static int64_t toNs(double seconds) { return static_cast<int64_t>(std::min(seconds * 1e9 * (1 - 1e-9), 0x1p62)); }

  /// The least time before v starts, by work alone, and after.
  std::pair<int64_t, int64_t> workAround(OperatorId v, const std::vector<Side> &side) const {
    std::vector<int64_t> before(2 * machine.devices.size(), 0), after(before);
    for (uint32_t i = 0; i < side.size(); ++i)
      if (side[i] == Ancestor || side[i] == Descendant) {
        int64_t &work = (side[i] == Ancestor ? before : after)[loadOf(OperatorId(i))];
        work = saturatingAdd(work, costs.timeNs(OperatorId(i), placement[i]));
      }
    return {*std::max_element(before.begin(), before.end()),
            saturatingAdd(costs.timeNs(v, placement[v.index()]), *std::max_element(after.begin(), after.end()))};
  }

  /// Bytes of parameters and states that v or its descendants read in m.
  int64_t persistentBytesAfter(MemoryId m, std::span<const uint32_t> persistents, const std::vector<Side> &side) const {
    int64_t bytes = 0;
    for (uint32_t i : persistents)
      if (const Tensor &tensor = graph.tensor(TensorId(i));
          std::any_of(tensor.consumers.begin(), tensor.consumers.end(), [&](OperatorId reader) {
            return memoryOf(reader) == m && (side[reader.index()] == Self || side[reader.index()] == Descendant);
          }))
        bytes = saturatingAdd(bytes, tensor.bytes);
    return bytes;
  }

  /// Operators at whose starts bounds look.
  std::vector<OperatorId> moments() const {
    const size_t visits = kMaxVisits / (graph.numOperators() + graph.numTensors() + 1);
    const size_t count = std::min(std::clamp(visits, kMinMoments, kMaxMoments), topological.size());
    std::vector<OperatorId> chosen;
    for (size_t k = 0; k < count; ++k)
      chosen.push_back(topological[k * topological.size() / count]);
    return chosen;
  }

  /// Bytes that v's ancestors made and its descendants read, v's operands apart.
  int64_t bytesAcross(OperatorId v, const std::vector<Side> &side) const {
    int64_t bytes = 0;
    for (const Tensor &tensor : graph.tensors()) {
      if (!tensor.producer.valid() || tensor.updates.valid() || side[tensor.producer.index()] != Ancestor)
        continue;
      bool isAfter = false, isOwn = false;
      for (OperatorId reader : tensor.consumers) {
        isOwn |= reader == v;
        isAfter |= side[reader.index()] == Descendant;
      }
      if (isAfter && !isOwn)
        bytes = saturatingAdd(bytes, tensor.bytes);
    }
    return bytes;
  }

  void boundFiles(LowerBounds &bounds) const {
    int64_t capacity = 0, updated = 0;
    for (size_t m = 0; m < machine.memories.size(); ++m)
      if (!machine.isFile(MemoryId(m)))
        capacity = saturatingAdd(capacity, capacities[m]);
    for (uint32_t i = 0; i < graph.numTensors(); ++i)
      if (const TensorId next = graph.tensor(TensorId(i)).updatedBy; next.valid())
        if (const std::vector<TensorId> &read = graph.op(graph.tensor(next).producer).inputs;
            std::find(read.begin(), read.end(), TensorId(i)) != read.end())
          updated = saturatingAdd(updated, graph.tensor(next).bytes);
    double out = 0, in = 0;
    for (const Link &link : machine.links)
      if (machine.isFile(link.a) || machine.isFile(link.b)) {
        const MemoryId file = machine.isFile(link.a) ? link.a : link.b;
        in += link.rateFrom(file);
        out += link.rateFrom(file == link.a ? link.b : link.a);
      }
    auto movingNs = [&](int64_t bytes, double rate) { return bytes > 0 ? toNs(static_cast<double>(bytes) / rate) : 0; };
    for (const OperatorId v : moments()) {
      const std::vector<Side> side = sidesOf(v);
      const int64_t operands = operandBytes(v), across = saturatingAdd(bytesAcross(v, side), operands) - capacity;
      const auto [workBefore, workAfter] = workAround(v, side);
      bounds.splitNs = std::max(bounds.splitNs, saturatingAdd(std::max(movingNs(across, out), workBefore),
                                                              std::max(movingNs(across, in), workAfter)));
      bounds.linkNs = std::max(bounds.linkNs, movingNs(saturatingAdd(across, updated), std::min(in, out)));
      bounds.recomputeNs =
          std::max(bounds.recomputeNs, movingNs(saturatingAdd(operands, updated) - capacity, std::min(in, out)));
    }
  }

  void boundLinks(MemoryId m, LowerBounds &bounds) const {
    // First-time traffic, and for every tensor whether it leaves m anyway.
    Traffic base;
    std::vector<char> leaves(graph.numTensors(), 0);
    std::vector<uint32_t> persistents, others; // Of the tensors read in m.
    for (uint32_t i = 0; i < graph.numTensors(); ++i) {
      const Tensor &tensor = graph.tensor(TensorId(i));
      bool made = tensor.producer.valid() && memoryOf(tensor.producer) == m, read = readIn(m, tensor);
      leaves[i] = made && tensor.isOutput;
      for (OperatorId reader : tensor.consumers)
        leaves[i] |= made && memoryOf(reader) != m;
      if (leaves[i])
        base.out = saturatingAdd(base.out, tensor.bytes);
      if (read && persistent(tensor))
        persistents.push_back(i);
      else if (read && !tensor.updates.valid())
        others.push_back(i);
      if (read && !made && !persistent(tensor))
        base.in = saturatingAdd(base.in, tensor.bytes);
    }

    double oneWay = 0, bothWays = 0;
    auto ends = [&](const Link &link) { return link.a == m || link.b == m; };
    for (const Link &link : machine.links)
      if (ends(link) && !(link.trunk.valid() && ends(machine.link(link.trunk)))) {
        oneWay += std::max(link.bytesPerSec, link.rateFrom(link.b));
        bothWays += link.duplexBytesPerSec;
      }
    if (oneWay == 0)
      return;
    const int64_t capacity = capacities[m.index()];
    Traffic extra;
    int64_t mostPersistent = 0;
    for (const OperatorId v : moments()) {
      const std::vector<Side> side = sidesOf(v);
      const int64_t operands = memoryOf(v) == m ? operandBytes(v) : 0;
      int64_t live = operands, mayLeave = 0, made = 0, given = 0;
      for (uint32_t i : others) {
        const Tensor &tensor = graph.tensor(TensorId(i));
        const bool isMade = tensor.producer.valid() && memoryOf(tensor.producer) == m;
        bool before = isMade && side[tensor.producer.index()] == Ancestor, own = tensor.producer == v, after = false;
        for (OperatorId reader : tensor.consumers) {
          own |= reader == v;
          if (memoryOf(reader) != m)
            continue;
          before |= side[reader.index()] == Ancestor;
          after |= side[reader.index()] == Descendant;
        }
        if (after && !own && !tensor.producer.valid())
          given = saturatingAdd(given, tensor.bytes);
        if (!before || !after || own)
          continue;
        live = saturatingAdd(live, tensor.bytes);
        if (isMade)
          made = saturatingAdd(made, tensor.bytes);
        if (isMade && !leaves[i])
          mayLeave = saturatingAdd(mayLeave, tensor.bytes);
      }
      extra.in = std::max(extra.in, saturatingAdd(persistentBytes(m, persistents, side), live) - capacity);
      extra.out = std::max(extra.out, mayLeave - capacity);

      auto [workBefore, workAfter] = workAround(v, side);
      const int64_t persistentAfter = persistentBytesAfter(m, persistents, side);
      auto split = [&](int64_t outBytes, int64_t inBytes) {
        int64_t before = toNs(static_cast<double>(std::max<int64_t>(outBytes, 0)) / oneWay);
        int64_t after = toNs(static_cast<double>(std::max<int64_t>(inBytes, 0)) / oneWay);
        return saturatingAdd(std::max(before, workBefore), std::max(after, workAfter));
      };
      const int64_t fixed = saturatingAdd(operands, persistentAfter) - capacity;
      bounds.splitNs = std::max(bounds.splitNs, split(saturatingAdd(made, operands) - capacity,
                                                      saturatingAdd(saturatingAdd(made, given), fixed)));
      bounds.recomputeNs = std::max(bounds.recomputeNs, split(0, fixed));
      mostPersistent = std::max(mostPersistent, fixed);
    }

    double in = static_cast<double>(base.in) + static_cast<double>(extra.in);
    double out = static_cast<double>(base.out) + static_cast<double>(extra.out);
    bounds.linkNs = std::max(bounds.linkNs, toNs(std::max({in / oneWay, out / oneWay, (in + out) / bothWays})));
    double most = static_cast<double>(base.in) + static_cast<double>(mostPersistent);
    bounds.recomputeNs = std::max(bounds.recomputeNs, toNs(most / oneWay));
  }

  const Graph &graph;
  const Machine &machine;
  const CostTable &costs;
  std::span<const int64_t> capacities;
  std::span<const DeviceId> placement;
  Schedule topological;
  std::vector<TensorId> newValue;    ///< Per tensor: what updates it.
  std::vector<int64_t> heads, tails; ///< Per operator.
};

} // namespace

LowerBounds planLowerBounds(const Graph &graph, const Machine &machine, const CostTable &costs,
                            std::span<const int64_t> capacities, std::span<const DeviceId> placement) {
  return Bounder(graph, machine, costs, capacities, placement).solve();
}

} // namespace sluice
