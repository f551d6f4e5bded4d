//===- ExecAttrs.cpp - Machine, target and plan as attributes -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Exec/Exec.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::exec;

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.cpp.inc"

void ExecDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/ExecAttrs.cpp.inc"
      >();
}

LogicalResult ExecDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  const StringRef name = attribute.getName();
  const Attribute value = attribute.getValue();
  if ((name == MachineAttrHelper::getNameStr() && !isa<MachineAttr>(value)) ||
      (name == TargetAttrHelper::getNameStr() && !isa<TargetAttr>(value)) ||
      (name == PlanAttrHelper::getNameStr() && !isa<PlanAttr>(value)))
    return op->emitError() << "attribute '" << name << "' is " << value << ", write #" << name << "<...>";
  return success();
}

template <typename Element>
static bool holdsOnly(ArrayAttr list) {
  return llvm::all_of(list, [](Attribute each) { return isa<Element>(each); });
}

LogicalResult MachineAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayAttr memories, ArrayAttr devices,
                                  ArrayAttr links) {
  if (!holdsOnly<MemoryAttr>(memories) || !holdsOnly<DeviceAttr>(devices) || !holdsOnly<LinkAttr>(links))
    return emitError() << "a machine lists #exec.memory, #exec.device and #exec.link";
  if (memories.empty() || devices.empty())
    return emitError() << "a machine has a memory, the host's, and a device";
  llvm::StringSet<> names;
  for (auto memory : memories.getAsRange<MemoryAttr>())
    if (!names.insert(memory.getName()).second)
      return emitError() << "a machine has two memories '" << memory.getName() << "'";
  auto check = [&](StringRef memory) -> LogicalResult {
    if (names.contains(memory))
      return success();
    return emitError() << "'" << memory << "' is not a memory of the machine";
  };
  for (auto device : devices.getAsRange<DeviceAttr>())
    if (failed(check(device.getMemory())))
      return failure();
  for (auto link : links.getAsRange<LinkAttr>())
    if (failed(check(link.getFirst())) || failed(check(link.getSecond())))
      return failure();
  return success();
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError, DenseI64ArrayAttr arenas,
                               ArrayAttr streams, ArrayAttr slots, ArrayAttr commands) {
  if (!holdsOnly<StreamAttr>(streams) || !holdsOnly<SlotAttr>(slots))
    return emitError() << "a plan lists #exec.stream and #exec.slot";
  const auto numStreams = static_cast<int64_t>(streams.size()), numSlots = static_cast<int64_t>(slots.size());
  auto within = [](ArrayRef<int64_t> numbers, int64_t count) {
    return llvm::all_of(numbers, [&](int64_t number) { return number >= 0 && number < count; });
  };
  for (auto [i, command] : llvm::enumerate(commands)) {
    const auto own = static_cast<int64_t>(i);
    bool isValid = false;
    if (auto launch = dyn_cast<LaunchAttr>(command))
      isValid = within(launch.getStream(), numStreams) && within(launch.getReads(), numSlots) &&
                within(launch.getWrites(), numSlots) && within(launch.getWaits(), own);
    else if (auto copy = dyn_cast<CopyAttr>(command))
      isValid = within(copy.getStream(), numStreams) && within({copy.getFrom(), copy.getTo()}, numSlots) &&
                copy.getLink() >= 0 && within(copy.getWaits(), own);
    else
      return emitError() << "command " << i << " of a plan is " << command << ", write #exec.launch or #exec.copy";
    if (!isValid)
      return emitError() << "command " << i << " of a plan names a stream or slot that is not listed, or waits for a "
                         << "command that does not come before it";
  }
  return success();
}
