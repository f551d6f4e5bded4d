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

/// What the runtime compares an input with, on an exec.input alone.
static LogicalResult verifyPortAttribute(Operation *op, StringRef name, Attribute value) {
  if (name != ExecDialect::FixedAttrHelper::getNameStr() && name != ExecDialect::RangeAttrHelper::getNameStr())
    return success();
  auto input = dyn_cast<InputOp>(op);
  if (!input)
    return op->emitError() << "attribute '" << name << "' is only for exec.input, remove it";
  auto type = cast<RankedTensorType>(input.getType());
  if (name == ExecDialect::RangeAttrHelper::getNameStr()) {
    auto range = dyn_cast<DenseI64ArrayAttr>(value);
    auto map = dyn_cast<AffineMapAttr>(value);
    const bool isThree = (range && range.size() == 3) ||
                         (map && map.getValue().getNumResults() == 3 && map.getValue().getNumDims() == 0);
    if (!isThree || !(type.getElementType().isInteger(32) || type.getElementType().isInteger(64)))
      return op->emitError() << "attribute '" << name << "' is " << value
                             << ", write array<i64: LEAST, GREATEST, OTHER> (the bounds, and one more allowed "
                                "value) on an input of i32 or i64, or an affine_map of the program's symbols with "
                                "these three results";
    return success();
  }
  auto fixed = dyn_cast<DenseI8ArrayAttr>(value);
  std::optional<int64_t> bytes = denseBytes(type);
  if (!fixed || !bytes || fixed.size() != *bytes)
    return op->emitError() << "attribute '" << name << "' is not array<i8: ...> of the " << bytes.value_or(0)
                           << " bytes of input '" << input.getTensor() << "', write one number for each byte";
  return success();
}

LogicalResult ExecDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  const StringRef name = attribute.getName();
  const Attribute value = attribute.getValue();
  if ((name == MachineAttrHelper::getNameStr() && !isa<MachineAttr>(value)) ||
      (name == TargetAttrHelper::getNameStr() && !isa<TargetAttr>(value)) ||
      (name == PlanAttrHelper::getNameStr() && !isa<PlanAttr>(value)))
    return op->emitError() << "attribute '" << name << "' is " << value << ", write #" << name << "<...>";
  if (name == BucketsAttrHelper::getNameStr()) {
    auto list = dyn_cast<ArrayAttr>(value);
    if (!list || !llvm::all_of(list, llvm::IsaPred<BucketAttr>))
      return op->emitError() << "attribute '" << name << "' is " << value << ", write [#exec.bucket<...>, ...]";
  }
  return verifyPortAttribute(op, name, value);
}

template <typename Element>
static bool holdsOnly(ArrayAttr list) {
  return llvm::all_of(list, [](Attribute each) { return isa<Element>(each); });
}

LogicalResult MachineAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayAttr memories, ArrayAttr devices,
                                  ArrayAttr links) {
  if (!holdsOnly<MemoryAttr>(memories) || !holdsOnly<DeviceAttr>(devices) || !holdsOnly<LinkAttr>(links))
    return emitError() << "a machine may list only #exec.memory, #exec.device and #exec.link";
  if (memories.empty() || devices.empty())
    return emitError() << "a machine must have at least a memory, that of the host, and a device";
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

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name, StringRef triple,
                                 StringRef cpu, StringRef, StringRef, StringRef, int64_t vectorBits, int64_t registers,
                                 DenseI64ArrayAttr architectures, bool, int64_t l2Bytes) {
  constexpr int64_t kMostBits = 1 << 16, kMostRegisters = 1 << 10, kMostArchitecture = 999;
  constexpr int64_t kLeastCache = 1 << 12, kMostCache = 1 << 30;
  if (name.empty() || triple.empty() || cpu.empty())
    return emitError() << "a target must have a name, a triple and a cpu, write them or run exec-attach-target";
  if (vectorBits < 32 || vectorBits > kMostBits || !llvm::isPowerOf2_64(vectorBits) || registers < 1 ||
      registers > kMostRegisters)
    return emitError() << "target '" << name << "' has " << registers << " vector registers of " << vectorBits
                       << " bits, write 1 to " << kMostRegisters << " registers of a power of two from 32 to "
                       << kMostBits << " bits";
  if (l2Bytes < kLeastCache || l2Bytes > kMostCache)
    return emitError() << "target '" << name << "' has " << l2Bytes << " bytes of second-level cache, write "
                       << kLeastCache << " to " << kMostCache;
  const ArrayRef<int64_t> list = architectures.asArrayRef();
  if (!llvm::all_of(list, [](int64_t each) { return each > 0 && each <= kMostArchitecture; }) ||
      std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) != list.end())
    return emitError() << "target '" << name << "' has architectures [" << list
                       << "], write numbers of GPU architectures in ascending order, such as 80 for sm_80";
  return success();
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError, DenseI64ArrayAttr arenas,
                               ArrayAttr streams, ArrayAttr slots, ArrayAttr commands) {
  if (!holdsOnly<StreamAttr>(streams) || !holdsOnly<SlotAttr>(slots))
    return emitError() << "a plan may list only #exec.stream and #exec.slot";
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
