//===- Conversion.cpp - From one tiling to another ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/Conversion.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace sluice {

std::string_view collectiveName(CollectiveKind kind) {
  constexpr std::string_view names[] = {"slice", "all-gather", "reduce-scatter", "all-reduce", "all-to-all", "halo"};
  return names[static_cast<size_t>(kind)];
}

static int64_t bytesOf(const std::vector<int64_t> &shape, int64_t elementBytes) {
  ProgramTensor tensor;
  tensor.shape = shape;
  tensor.elementBytes = elementBytes;
  return tensor.bytes();
}

namespace {
/// Steps from what is held now until it is what is wanted.
class ConversionPlanner {
public:
  ConversionPlanner(const std::vector<int64_t> &shape, int64_t elementBytes, std::vector<AxisTiling> from,
                    const std::vector<AxisTiling> &to, const Mesh &mesh)
      : shape(shape), elementBytes(elementBytes), now(std::move(from)), wanted(to), mesh(mesh) {}

  std::vector<CollectiveStep> run() {
    while (now != wanted)
      if (!cut() && !scatter() && !reduce(/*unlessSplit=*/true) && !exchange() && !gather())
        reduce(/*unlessSplit=*/false);
    return std::move(steps);
  }

private:
  /// Whether splitting `axis` the way that is wanted makes each device's part one of what it is in now:
  /// the axes that split that dimension are those wanted outside of `axis`, and no others.
  bool fits(uint32_t axis) const {
    if (!wanted[axis].isSplit())
      return false;
    for (uint32_t other = 0; other < now.size(); ++other) {
      if (other == axis)
        continue;
      const bool splits = now[other] == wanted[axis];
      // Parts of a dimension in different numbers of blocks do not nest.
      if (now[other].splits(wanted[axis].dim) && !splits)
        return false;
      if (splits != (other < axis && wanted[other] == wanted[axis]))
        return false;
    }
    return true;
  }
  /// The axis splits its dimension innermost.
  bool isInnermost(uint32_t axis) const {
    for (uint32_t other = axis + 1; other < now.size(); ++other)
      if (now[other] == now[axis])
        return false;
    return true;
  }

  /// Along how many parts of a dimension `now` has.
  int64_t partsOf(AxisTiling split) const {
    int64_t parts = 1;
    for (size_t axis = 0; axis < now.size(); ++axis)
      if (now[axis] == split)
        parts *= mesh.axes[axis].size;
    return parts;
  }
  /// Per member of a group of `group` devices that split an extent into `parts` parts innermost: the elements of its
  /// part, summed over the devices outside.
  static std::vector<int64_t> elementsByMember(int64_t extent, int64_t parts, int64_t group) {
    std::vector<int64_t> sums(static_cast<size_t>(group), 0);
    for (int64_t part = 0; part < parts; ++part)
      sums[static_cast<size_t>(part % group)] += partBegin(extent, parts, part + 1) - partBegin(extent, parts, part);
    return sums;
  }
  /// Bytes that all devices send in an all-to-all along `axis` from one split to another.
  int64_t exchangedBytes(uint32_t axis, AxisTiling then, int64_t ownBytes) const {
    const std::vector<int64_t> own = partShape(shape, now, mesh);
    const uint32_t joined = now[axis].dim, split = then.dim;
    const int64_t group = mesh.axes[axis].size, joinedParts = partsOf(now[axis]), outside = partsOf(then),
                  splitParts = outside * group;
    if (shape[joined] % joinedParts == 0 && shape[split] % splitParts == 0)
      return saturatingMul(mesh.numDevices() / group * (group - 1), ownBytes);
    // Each member sends its elements of the one dimension times those that it does not keep of the other.
    const std::vector<int64_t> held = elementsByMember(shape[joined], joinedParts, group),
                               kept = elementsByMember(shape[split], splitParts, group);
    int64_t cells = 0;
    for (size_t i = 0; i < held.size(); ++i)
      cells = saturatingAdd(cells, saturatingMul(held[i], shape[split] - kept[i]));
    const int64_t cellBytes = ownBytes / std::max<int64_t>(1, own[joined] * own[split]);
    return saturatingMul(saturatingMul(mesh.numDevices() / (joinedParts * outside), cells), cellBytes);
  }

  /// The ranks of a group exchange strided parts only if all parts are equal.
  bool canExchange(uint32_t axis) const {
    const AxisTiling from = now[axis], to = wanted[axis];
    const int64_t joined = partsOf(from), split = partsOf(to) * mesh.axes[axis].size;
    return (from.blocks == 1 && to.blocks == 1) || (shape[from.dim] % joined == 0 && shape[to.dim] % split == 0);
  }

  void add(CollectiveKind kind, std::vector<uint32_t> axes, uint32_t dim, AxisTiling then) {
    CollectiveStep step;
    step.kind = kind;
    step.dim = dim;
    step.splitDim = then.dim;
    const bool joins = kind == CollectiveKind::AllGather || kind == CollectiveKind::AllToAll;
    step.blocks = joins ? now[axes[0]].blocks : then.blocks;
    step.splitBlocks = kind == CollectiveKind::AllToAll ? then.blocks : 1;
    const std::vector<int64_t> own = partShape(shape, now, mesh);
    step.ownBytes = bytesOf(own, elementBytes);
    const int64_t exchanged = kind == CollectiveKind::AllToAll ? exchangedBytes(axes[0], then, step.ownBytes) : 0;
    int64_t group = 1, devices = mesh.numDevices();
    for (uint32_t axis : axes) {
      group *= mesh.axes[axis].size;
      if (now[axis].isPartial())
        step.reduction = now[axis].reduction;
      now[axis] = then;
    }
    // Whole rows along the dimension go to all members but one, in each group of devices that have the same ones.
    auto rowsBytes = [&](int64_t parts) {
      const int64_t row = step.ownBytes / std::max<int64_t>(1, own[step.dim]);
      return saturatingMul(devices / parts * (group - 1), saturatingMul(shape[step.dim], row));
    };
    switch (kind) {
    case CollectiveKind::AllGather:
      step.bytes = rowsBytes(partsOf(AxisTiling::split(step.dim, step.blocks)) * group);
      break;
    case CollectiveKind::AllReduce:
      step.bytes = saturatingMul(devices / group * (group - 1), saturatingMul(step.ownBytes, 2));
      break;
    case CollectiveKind::ReduceScatter:
      step.bytes = rowsBytes(partsOf(then));
      break;
    case CollectiveKind::AllToAll:
      step.bytes = exchanged;
      break;
    default:
      break;
    }
    step.axes = std::move(axes);
    steps.push_back(std::move(step));
  }

  bool cut() {
    for (uint32_t axis = 0; axis < now.size(); ++axis)
      if (now[axis].isReplicated() && fits(axis)) {
        add(CollectiveKind::Slice, {axis}, wanted[axis].dim, wanted[axis]);
        return true;
      }
    return false;
  }
  bool scatter() {
    for (uint32_t axis = 0; axis < now.size(); ++axis)
      if (now[axis].isPartial() && fits(axis)) {
        add(CollectiveKind::ReduceScatter, {axis}, wanted[axis].dim, wanted[axis]);
        return true;
      }
    return false;
  }
  bool reduce(bool unlessSplit) {
    std::vector<uint32_t> axes;
    for (uint32_t axis = 0; axis < now.size(); ++axis)
      if (now[axis].isPartial() && !(unlessSplit && wanted[axis].isSplit()))
        axes.push_back(axis);
    if (axes.empty())
      return false;
    add(CollectiveKind::AllReduce, std::move(axes), 0, AxisTiling::replicated());
    return true;
  }
  bool exchange() {
    for (uint32_t axis = 0; axis < now.size(); ++axis)
      if (now[axis].isSplit() && !now[axis].splits(wanted[axis].dim) && isInnermost(axis) && fits(axis) &&
          canExchange(axis)) {
        add(CollectiveKind::AllToAll, {axis}, now[axis].dim, wanted[axis]);
        return true;
      }
    return false;
  }
  bool gather() {
    for (uint32_t axis = static_cast<uint32_t>(now.size()); axis-- > 0;) {
      if (!now[axis].isSplit() || !isInnermost(axis))
        continue;
      // Right where it is: wanted there, inside of the same others.
      bool isRight = now[axis] == wanted[axis] && fits(axis);
      if (isRight)
        continue;
      add(CollectiveKind::AllGather, {axis}, now[axis].dim, AxisTiling::replicated());
      return true;
    }
    return false;
  }

  const std::vector<int64_t> &shape;
  int64_t elementBytes;
  std::vector<AxisTiling> now;
  const std::vector<AxisTiling> &wanted;
  const Mesh &mesh;
  std::vector<CollectiveStep> steps;
};
} // namespace

std::vector<CollectiveStep> planConversion(const std::vector<int64_t> &shape, int64_t elementBytes,
                                           const std::vector<AxisTiling> &from, const std::vector<AxisTiling> &to,
                                           const Mesh &mesh) {
  return ConversionPlanner(shape, elementBytes, from, to, mesh).run();
}

std::vector<CollectiveStep> planHalos(const ProgramOperator &op, size_t slot, const ProgramTensor &tensor,
                                      const std::vector<uint32_t> &rules, const Mesh &mesh) {
  std::vector<CollectiveStep> steps;
  std::vector<AxisTiling> held;
  for (uint32_t rule : rules)
    held.push_back(op.rules[rule].operands[slot]);
  std::vector<int64_t> part = partShape(tensor.shape, held, mesh);
  for (uint32_t r = 0; r < op.rules.size(); ++r) {
    Halo halo = op.rules[r].halo(slot);
    CollectiveStep step;
    int64_t group = 1;
    for (uint32_t axis = 0; axis < rules.size(); ++axis)
      if (rules[axis] == r) {
        step.axes.push_back(axis);
        group *= mesh.axes[axis].size;
      }
    if (group == 1 || halo.empty())
      continue;
    step.kind = CollectiveKind::Halo;
    step.dim = op.rules[r].operands[slot].dim;
    step.halo = halo;
    step.ownBytes = bytesOf(part, tensor.elementBytes);
    int64_t row = step.ownBytes / std::max<int64_t>(1, part[step.dim]);
    // The devices at the ends have one neighbour only.
    step.bytes = saturatingMul(saturatingMul(mesh.numDevices() / group * (group - 1), halo.low + halo.high), row);
    // What the next exchange moves includes this one's halo.
    part[step.dim] += halo.low + halo.high;
    steps.push_back(std::move(step));
  }
  return steps;
}

int64_t collectiveNs(const CollectiveStep &step, const Mesh &mesh) {
  double ns = 0, own = static_cast<double>(step.ownBytes);
  int64_t messages = 0;
  // What remains for the axes outside of the one looked at.
  for (size_t i = step.axes.size(); i-- > 0;) {
    const MeshAxis &axis = mesh.axes[step.axes[i]];
    auto size = static_cast<double>(axis.size);
    double sent = 0;
    switch (step.kind) {
    case CollectiveKind::Slice:
      return 0;
    case CollectiveKind::AllGather:
      sent = own * (size - 1);
      messages = axis.size - 1;
      break;
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
      sent = own * (size - 1) / size;
      messages = axis.size - 1;
      break;
    case CollectiveKind::AllReduce:
      sent = 2 * own * (size - 1) / size;
      messages = 2 * (axis.size - 1);
      own /= size;
      break;
    case CollectiveKind::Halo:
      sent = i == step.axes.size() - 1 ? static_cast<double>(step.bytes) / static_cast<double>(mesh.numDevices()) : 0;
      messages = 1;
      break;
    }
    ns += sent / axis.bytesPerSec * 1e9 + static_cast<double>(messages * axis.latencyNs);
  }
  return ns < 1e18 ? static_cast<int64_t>(std::ceil(ns)) : int64_t(1) << 60;
}

namespace {
struct Interval {
  int64_t begin, end;
};

/// The elements of a dimension that a device has, ascending: an interval for each block.
std::vector<Interval> partOf(int64_t extent, uint32_t dim, const std::vector<AxisTiling> &tilings,
                             const std::vector<int64_t> &coordinates, const Mesh &mesh) {
  int64_t parts = 1, part = 0, blocks = 1;
  for (size_t axis = 0; axis < tilings.size(); ++axis)
    if (tilings[axis].splits(dim)) {
      parts *= mesh.axes[axis].size;
      part = part * mesh.axes[axis].size + coordinates[axis];
      blocks = tilings[axis].blocks;
    }
  std::vector<Interval> result;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = partBegin(extent, blocks, block), width = partBegin(extent, blocks, block + 1) - begin;
    result.push_back({begin + partBegin(width, parts, part), begin + partBegin(width, parts, part + 1)});
  }
  return result;
}

int64_t elementsIn(const std::vector<Interval> &intervals) {
  int64_t sum = 0;
  for (const Interval &interval : intervals)
    sum += interval.end - interval.begin;
  return sum;
}

int64_t elementsInBoth(const std::vector<Interval> &a, const std::vector<Interval> &b) {
  int64_t sum = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size(); ++(a[i].end < b[j].end ? i : j))
    sum += std::max<int64_t>(0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
  return sum;
}

/// Elements all devices need, and those of them they hold.
std::pair<int64_t, int64_t> neededAndHeld(const std::vector<int64_t> &shape, const std::vector<AxisTiling> &from,
                                          const std::vector<AxisTiling> &to, const Mesh &mesh) {
  int64_t needed = 0, held = 0;
  for (int64_t device = 0, devices = mesh.numDevices(); device < devices; ++device) {
    const std::vector<int64_t> coordinates = mesh.coordinates(device);
    int64_t all = 1, common = 1;
    for (uint32_t d = 0; d < shape.size(); ++d) {
      const std::vector<Interval> wants = partOf(shape[d], d, to, coordinates, mesh);
      all = saturatingMul(all, elementsIn(wants));
      common = saturatingMul(common, elementsInBoth(partOf(shape[d], d, from, coordinates, mesh), wants));
    }
    needed = saturatingAdd(needed, all);
    held = saturatingAdd(held, common);
  }
  return {needed, held};
}

/// Partial results become parts, along the dimensions that make the rest cheapest; `scatter` is what that takes, `rest`
/// what follows from then on. Where nothing has that many parts, every device gets everything.
int64_t throughParts(const std::vector<int64_t> &shape, const std::vector<AxisTiling> &from, const Mesh &mesh,
                     int64_t scatter, int64_t gatherAll,
                     const std::function<int64_t(const std::vector<AxisTiling> &)> &rest) {
  int64_t best = gatherAll;
  std::vector<AxisTiling> parts = from;
  std::function<void(size_t)> choose = [&](size_t axis) {
    while (axis < from.size() && !from[axis].isPartial())
      ++axis;
    if (axis == from.size()) {
      best = std::min(best, saturatingAdd(scatter, rest(parts)));
      return;
    }
    for (uint32_t dim = 0; dim < shape.size(); ++dim) {
      // In as many blocks as other axes split the dimension.
      int64_t count = mesh.axes[axis].size;
      uint32_t blocks = 1;
      for (size_t other = 0; other < parts.size(); ++other)
        if (other != axis && parts[other].splits(dim)) {
          count *= mesh.axes[other].size;
          blocks = parts[other].blocks;
        }
      if (shape[dim] / blocks < count)
        continue;
      parts[axis] = AxisTiling::split(dim, blocks);
      choose(axis + 1);
      parts[axis] = from[axis];
    }
  };
  choose(0);
  return best;
}

int64_t partialGroup(const std::vector<AxisTiling> &tilings, const Mesh &mesh) {
  int64_t group = 1;
  for (size_t axis = 0; axis < tilings.size(); ++axis)
    if (tilings[axis].isPartial())
      group *= mesh.axes[axis].size;
  return group;
}
} // namespace

int64_t ghostBytes(const std::vector<int64_t> &shape, int64_t elementBytes, const std::vector<AxisTiling> &from,
                   const std::vector<AxisTiling> &to, const Mesh &mesh) {
  int64_t group = partialGroup(from, mesh);
  if (group == 1) {
    auto [needed, held] = neededAndHeld(shape, from, to, mesh);
    return saturatingMul(needed - held, elementBytes);
  }
  int64_t all = saturatingMul(mesh.numDevices(), bytesOf(partShape(shape, from, mesh), elementBytes));
  int64_t scatter = all / group * (group - 1);
  return throughParts(shape, from, mesh, scatter, saturatingMul(all, group - 1),
                      [&](const auto &parts) { return ghostBytes(shape, elementBytes, parts, to, mesh); });
}

int64_t paperBytes(const std::vector<int64_t> &shape, int64_t elementBytes, const std::vector<AxisTiling> &from,
                   const std::vector<AxisTiling> &to, const Mesh &mesh) {
  if (partialGroup(from, mesh) == 1) {
    auto [needed, held] = neededAndHeld(shape, from, to, mesh);
    return needed == held ? 0 : saturatingMul(needed, elementBytes);
  }
  int64_t all = saturatingMul(mesh.numDevices(), bytesOf(partShape(shape, from, mesh), elementBytes));
  return throughParts(shape, from, mesh, all, saturatingMul(all, 2),
                      [&](const auto &parts) { return paperBytes(shape, elementBytes, parts, to, mesh); });
}

} // namespace sluice
