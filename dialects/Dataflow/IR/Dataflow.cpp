//===- Dataflow.cpp - Dialect, constants, folding -------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Indices.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <atomic>

using namespace mlir;
using namespace sluice::dataflow;

#include "dialects/Dataflow/IR/DataflowDialect.cpp.inc"
#include "dialects/Dataflow/IR/DataflowEnums.cpp.inc"
#include "dialects/Dataflow/IR/DataflowInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Dataflow/IR/DataflowAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Dataflow/IR/DataflowTypes.cpp.inc"

namespace {

/// Folding stops here: larger results stay constant expressions, evaluated once
/// when parameters are packed.
constexpr int64_t kMaxFoldedBytes = 64 * 1024;

/// A context never forgets an attribute, and loops unroll: a program may ask for any number of folds. Those of more
/// than a few elements end after so many bytes of operands and results, and leave constant expressions.
constexpr int64_t kMostFoldedBytes = int64_t(2) << 30, kSmallFoldBytes = 1024;

/// One fold for every operator that can evaluate itself.
struct EvaluateFold : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;

  LogicalResult fold(Operation *op, ArrayRef<Attribute> operands,
                     SmallVectorImpl<OpFoldResult> &results) const override {
    auto evaluator = modelOf<EvaluateOpInterface>(op);
    if (!evaluator || op->getNumResults() == 0)
      return failure();
    for (Type type : op->getResultTypes())
      if (!cast<RankedTensorType>(type).hasStaticShape() || tensorBytes(type) > kMaxFoldedBytes ||
          cast<RankedTensorType>(type).getEncoding())
        return failure();
    SmallVector<TensorView> inputs;
    SmallVector<std::vector<char>> storage(operands.size());
    for (auto [i, operand] : llvm::enumerate(operands)) {
      auto elements = dyn_cast_if_present<ElementsAttr>(operand);
      if (!elements || tensorBytes(elements.getType()) > kMaxFoldedBytes)
        return failure();
      storage[i].resize(tensorBytes(elements.getType()));
      if (failed(copyConstant(elements, storage[i].data())))
        return failure();
      inputs.push_back({cast<RankedTensorType>(elements.getType()), storage[i].data()});
    }
    Count touched = sluice::dataflow::detail::totalBytes(op->getOperandTypes()) +
                    sluice::dataflow::detail::totalBytes(op->getResultTypes());
    if (touched > kSmallFoldBytes && (spent += touched) > kMostFoldedBytes)
      return failure();
    SmallVector<std::vector<char>> data;
    SmallVector<MutableTensorView> outputs;
    for (Type type : op->getResultTypes()) {
      data.emplace_back(tensorBytes(type));
      outputs.push_back({cast<RankedTensorType>(type), data.back().data()});
    }
    if (failed(evaluator.evaluate(inputs, outputs)))
      return failure();
    for (auto [type, bytes] : llvm::zip(op->getResultTypes(), data))
      results.push_back(makeDense(cast<RankedTensorType>(type), bytes));
    return success();
  }

private:
  mutable std::atomic<int64_t> spent = 0;
};

template <typename... Ops>
struct Operators {
  /// Declares what the operators' traits promise of interfaces.
  template <typename... Interfaces>
  static void promise(Dialect &dialect) {
    (promiseOf<Interfaces>(dialect), ...);
  }

private:
  template <typename Interface>
  static void promiseOf(Dialect &dialect) {
    auto declare = [&]<typename OpTy>() {
      if constexpr (OpTy::template hasTrait<Promises<Interface>::template Impl>())
        dialect.declarePromisedInterface<Interface, OpTy>();
    };
    (declare.template operator()<Ops>(), ...);
  }
};
using AllOperators = Operators<
#define GET_OP_LIST
#include "dialects/Dataflow/IR/DataflowOpList.cpp.inc"
    >;

} // namespace

void DataflowDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Dataflow/IR/DataflowAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Dataflow/IR/DataflowTypes.cpp.inc"
      >();
  registerDataflowDialectOperations(this);
  AllOperators::promise<CostOpInterface, EmitElementOpInterface, EmitKernelOpInterface, EmitScalarOpInterface,
                        EvaluateOpInterface, GradientOpInterface, LibraryCallOpInterface, TilingRulesOpInterface,
                        TuningSpaceOpInterface>(*this);
  addInterfaces<EvaluateFold>();
}

Operation *DataflowDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static LogicalResult verifyDecision(Operation *op, StringRef name, Attribute value, bool isValid, StringRef form) {
  if (isValid)
    return success();
  return op->emitError() << "attribute '" << name << "' is " << value << ", write " << form;
}

/// Whether a decision is a whole number in [least, most] of at most 64 bits.
static bool isNumber(Attribute value, int64_t least, int64_t most = INT64_MAX) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isSignlessInteger() && number.getValue().getBitWidth() <= 64 &&
         number.getInt() >= least && number.getInt() <= most;
}

template <typename Element>
static bool isListOf(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, [](Attribute each) { return isa<Element>(each); });
}

/// What a decision of a name must be, and how it is written; nothing where the name is not checked here.
static std::optional<std::pair<bool, StringRef>> checkSimpleDecision(StringRef name, Attribute value) {
  constexpr int64_t kMostRanks = 1 << 20;
  auto is = [&](bool valid, StringRef form) { return std::pair(valid, form); };
  if (name == DataflowDialect::RanksAttrHelper::getNameStr())
    return is(isNumber(value, 1, kMostRanks), "a number of ranks from 1 to 1048576, such as 4 : i64");
  if (name == DataflowDialect::RankAttrHelper::getNameStr())
    return is(isNumber(value, 0, kMostRanks - 1), "the number of a rank from 0 to 1048575, such as 2 : i64");
  if (name == DataflowDialect::OrderAttrHelper::getNameStr() ||
      name == DataflowDialect::PositionAttrHelper::getNameStr())
    return is(isNumber(value, 0), "the position of an operator, such as 0 : i64");
  if (name == DataflowDialect::ChoicesAttrHelper::getNameStr() ||
      name == DataflowDialect::ExpertSlotsAttrHelper::getNameStr())
    return is(isNumber(value, 1, INT32_MAX), "a number of at least 1, such as 2 : i64");
  if (name == DataflowDialect::ExpertHitRateAttrHelper::getNameStr()) {
    auto rate = dyn_cast<FloatAttr>(value);
    return is(rate && rate.getType().isF64() && rate.getValueAsDouble() >= 0 && rate.getValueAsDouble() <= 1,
              "a rate from 0 to 1, such as 0.5 : f64");
  }
  if (name == DataflowDialect::ExpertAttrHelper::getNameStr() ||
      name == DataflowDialect::MaterializedAttrHelper::getNameStr())
    return is(isa<UnitAttr>(value), "no value");
  if (name == DataflowDialect::MeshAttrHelper::getNameStr()) {
    auto sizes = dyn_cast<DenseI64ArrayAttr>(value);
    return is(sizes && llvm::all_of(sizes.asArrayRef(), [](int64_t size) { return size > 0; }),
              "the sizes of the axes of the mesh, such as array<i64: 2, 4>");
  }
  if (name == DataflowDialect::RulesAttrHelper::getNameStr())
    return is(isListOf<StringAttr>(value),
              "a list with the name of a rule for each axis of the mesh, such as [\"rows\"]");
  if (name == DataflowDialect::PrunedAttrHelper::getNameStr())
    return is(isListOf<DictionaryAttr>(value), "a list with a dictionary for each pruned layer");
  // A string names the kernel of an operator in an exported program.
  if (name == DataflowDialect::KernelAttrHelper::getNameStr())
    return is(isa<UnitAttr, StringAttr>(value), "no value");
  if (name == DataflowDialect::SourceAttrHelper::getNameStr() ||
      name == DataflowDialect::DigestAttrHelper::getNameStr() ||
      name == DataflowDialect::OperatorAttrHelper::getNameStr() ||
      name == DataflowDialect::ComputedAgainAttrHelper::getNameStr() ||
      name == DataflowDialect::SwappedInAttrHelper::getNameStr() ||
      name == DataflowDialect::TimeAttrHelper::getNameStr() ||
      name == DataflowDialect::SwappedOutAttrHelper::getNameStr())
    return is(isa<StringAttr>(value), "a string");
  // A module and an input have one text, an operator has one for each result.
  if (name == DataflowDialect::MemoryAttrHelper::getNameStr())
    return is(isa<StringAttr>(value) || isListOf<StringAttr>(value),
              "a string, or a list with a string for each result");
  if (name == DataflowDialect::SharedAttrHelper::getNameStr() ||
      name == DataflowDialect::ArchitectureAttrHelper::getNameStr())
    return is(isNumber(value, 0, UINT32_MAX), "a number of at least 0, such as 0 : i64");
  return std::nullopt;
}

TuningAttr TuningAttr::get(MLIRContext *context, StringRef kernel, const sluice::KernelTuning &tuning) {
  return get(context, kernel, static_cast<sluice::dataflow::TunedAlgorithm>(tuning.algorithm), tuning.rows,
             tuning.vectors, tuning.rowBlock, tuning.depthBlock, tuning.chunkNs);
}

sluice::KernelTuning TuningAttr::getTuning() const {
  return {static_cast<sluice::TunedAlgorithm>(getAlgorithm()),
          getRows(),
          getVectors(),
          getRowBlock(),
          getDepthBlock(),
          getChunkNs()};
}

LogicalResult TuningAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef,
                                 sluice::dataflow::TunedAlgorithm algorithm, int64_t rows, int64_t vectors,
                                 int64_t rowBlock, int64_t depthBlock, int64_t chunkNs) {
  const sluice::KernelTuning tuning{
      static_cast<sluice::TunedAlgorithm>(algorithm), rows, vectors, rowBlock, depthBlock, chunkNs};
  for (const sluice::TuningField &field : sluice::kTuningFields)
    if (const int64_t value = tuning.*field.value; value < 0 || value > field.most)
      return emitError() << field.name << " of a kernel's tuning is " << value << ", write 0 to " << field.most;
  return success();
}

sluice::KernelTuning sluice::dataflow::tuningOf(Operation *op) {
  if (auto group = dyn_cast<FusedOp>(op))
    op = group.getAnchor();
  auto tuning = op ? DataflowDialect::TuningAttrHelper(op->getContext()).getAttr(op) : TuningAttr();
  return tuning ? tuning.getTuning() : sluice::KernelTuning();
}

static LogicalResult verifyTuning(Operation *op, StringRef name, Attribute value) {
  auto tunable = dyn_cast<TunableOpInterface>(op);
  auto tuning = dyn_cast<TuningAttr>(value);
  if (tunable && tuning && tuning.getTuning().algorithm != sluice::TunedAlgorithm::Any)
    return verifyDecision(op, name, value, tunable.allowsTunedAlgorithm(),
                          "the attribute without 'algorithm', which only convolutions have");
  return verifyDecision(op, name, value, tunable && tuning,
                        "#dataflow.tuning<kernel = \"KEY\", rows = 7>, only on a conv or matmul");
}

LogicalResult DataflowDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  const StringRef name = attribute.getName();
  const Attribute value = attribute.getValue();
  if (name == DeviceAttrHelper::getNameStr())
    return verifyDecision(op, name, value, isa<DeviceAttr, StringAttr>(value), "#dataflow.device<\"gpu0\", grids>");
  if (name == SplitAttrHelper::getNameStr())
    return verifyDecision(op, name, value, isa<SplitAttr>(value), "#dataflow.split<\"rows\", 2>");
  if (name == TuningAttrHelper::getNameStr())
    return verifyTuning(op, name, value);
  if (name == TilingAttrHelper::getNameStr()) {
    auto list = dyn_cast<ArrayAttr>(value);
    return verifyDecision(op, name, value,
                          list && list.size() == op->getNumResults() &&
                              llvm::all_of(list, [](Attribute each) { return isa<TilingAttr>(each); }),
                          "a list with an entry for each result, such as [#dataflow.tiling<S0, R>]");
  }
  if (auto checked = checkSimpleDecision(name, value))
    return verifyDecision(op, name, value, checked->first, checked->second);
  return success();
}

LogicalResult DataflowDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                        NamedAttribute attribute) {
  const Attribute value = attribute.getValue();
  if (attribute.getName() == NameAttrHelper::getNameStr())
    return verifyDecision(op, attribute.getName(), value, isa<StringAttr>(value), "a string");
  if (attribute.getName() == TuningAttrHelper::getNameStr())
    return verifyTuning(op, attribute.getName(), value);
  if (attribute.getName() == FixedAttrHelper::getNameStr()) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    auto fixed = dyn_cast<ElementsAttr>(value);
    return verifyDecision(op, attribute.getName(), value,
                          function && fixed && fixed.getShapedType() == function.getArgumentTypes()[argument],
                          "elements of the argument's type");
  }
  if (attribute.getName() == RangeAttrHelper::getNameStr()) {
    auto range = dyn_cast<DenseI64ArrayAttr>(value);
    auto map = dyn_cast<AffineMapAttr>(value);
    return verifyDecision(op, attribute.getName(), value,
                          (range && range.size() == 3) ||
                              (map && map.getValue().getNumResults() == 3 && map.getValue().getNumDims() == 0),
                          "array<i64: LEAST, GREATEST, OTHER> or affine_map<()[s0] -> (LEAST, GREATEST, OTHER)>");
  }
  return verifyDecision(op, attribute.getName(), attribute.getValue(),
                        attribute.getName() != TilingAttrHelper::getNameStr() || isa<TilingAttr>(attribute.getValue()),
                        "#dataflow.tiling<S0, R>");
}

LogicalResult DataflowDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                                           NamedAttribute attribute) {
  if (attribute.getName() == TuningAttrHelper::getNameStr())
    return verifyTuning(op, attribute.getName(), attribute.getValue());
  return verifyDecision(
      op, attribute.getName(), attribute.getValue(),
      (attribute.getName() != NameAttrHelper::getNameStr() && attribute.getName() != UpdatesAttrHelper::getNameStr()) ||
          isa<StringAttr>(attribute.getValue()),
      "a string");
}

Attribute TilingAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> dims, blocks;
  auto parseAxis = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    blocks.push_back(1);
    if (word == "R") {
      dims.push_back(kReplicated);
      return success();
    }
    if (!word.consume_front("S") || word.getAsInteger(10, dims.emplace_back()))
      return parser.emitError(loc, "expected 'R' (replicated), or 'S' and a dimension such as 'S0' (split)");
    if (failed(parser.parseOptionalKeyword("in")))
      return success();
    loc = parser.getCurrentLocation();
    if (parser.parseInteger(blocks.back()))
      return failure();
    if (blocks.back() < 2 || blocks.back() > kMostBlocks)
      return parser.emitError(loc, "expected 2 to ") << kMostBlocks << " blocks";
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseAxis))
    return {};
  return get(parser.getContext(), dims, blocks);
}

void TilingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(llvm::zip(getDims(), getBlocks()), printer, [&](auto axis) {
    const auto [dim, blocks] = axis;
    if (dim == kReplicated)
      printer << "R";
    else
      printer << "S" << dim;
    if (blocks > 1)
      printer << " in " << blocks;
  });
  printer << ">";
}

Attribute GroupAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> counts, strides;
  SMLoc loc = parser.getCurrentLocation();
  auto parseAxis = [&] {
    return failure(parser.parseInteger(counts.emplace_back()) || parser.parseColon() ||
                   parser.parseInteger(strides.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return {};
  return GroupAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), counts, strides);
}

Attribute SymbolsAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> least, most, steps;
  const SMLoc loc = parser.getCurrentLocation();
  uint64_t found = 0;
  auto parseSymbol = [&]() -> ParseResult {
    steps.push_back(1);
    if (parser.parseAttribute(names.emplace_back()) || parser.parseEqual() ||
        parser.parseInteger(least.emplace_back()) || parser.parseKeyword("to") ||
        parser.parseInteger(most.emplace_back()) ||
        (succeeded(parser.parseOptionalKeyword("by")) && parser.parseInteger(steps.back())))
      return failure();
    const bool isFound = succeeded(parser.parseOptionalKeyword("found"));
    if (found > 0 && !isFound)
      return parser.emitError(loc) << "symbol " << names.back()
                                   << " is listed after a symbol that is marked 'found' (computed during a step), "
                                      "write the symbols that the caller gives first";
    found += isFound ? 1 : 0;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseSymbol))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), names, least, most, steps, found);
}

void SymbolsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(llvm::seq<size_t>(0, size()), printer, [&](size_t i) {
    printer << getNames()[i] << " = " << getLeast()[i] << " to " << getMost()[i];
    if (getSteps()[i] != 1)
      printer << " by " << getSteps()[i];
    if (isFound(i))
      printer << " found";
  });
  printer << ">";
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

namespace sluice::dataflow {

int64_t elementBytes(Type type) { return isString(type) ? kStringBytes : (type.getIntOrFloatBitWidth() + 7) / 8; }

Count elementCount(Type type) { return product(cast<RankedTensorType>(type).getShape()); }

Count tensorBytes(Type type) {
  return elementCount(type) * elementBytes(cast<RankedTensorType>(type).getElementType());
}

bool isSmallFloat(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 8; }

Type computeType(Type type) {
  if (type.isF16() || type.isBF16() || isSmallFloat(type))
    return Float32Type::get(type.getContext());
  if (isString(type))
    return IntegerType::get(type.getContext(), 8 * kStringBytes);
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  return type;
}

std::string nodeName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    // The first member names the group: the contraction an epilogue follows.
    for (Location part : fused.getLocations())
      if (std::string name = nodeName(part); !name.empty())
        return name;
  }
  return "";
}

bool isUnsignedElement(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

namespace detail {
void reportMissingModel(Operation *op, StringRef interface) {
  llvm::report_fatal_error("operator '" + Twine(op->getName().getStringRef()) + "' does not implement " + interface +
                           ", register the dialect by registerDataflow()");
}
LogicalResult verifyStaticExtents(Operation *op) {
  auto isStatic = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || !shaped.hasRank() || shaped.hasStaticShape();
  };
  if (llvm::all_of(op->getOperandTypes(), isStatic) && llvm::all_of(op->getResultTypes(), isStatic))
    return success();
  return op->emitOpError("has an operand or a result with an unknown extent, give every dimension a size");
}

/// As mlir::detail::verifyInferredResultTypes(), which adds a second error that says nothing more.
LogicalResult verifyInferredTypes(Operation *op) {
  auto infer = [&](std::optional<Location> location) {
    SmallVector<Type> types(op->getResultTypes());
    return cast<InferTypeOpInterface>(op).refineReturnTypes(op->getContext(), location, op->getOperands(),
                                                            op->getRawDictionaryAttrs(), op->getPropertiesStorage(),
                                                            op->getRegions(), types);
  };
  if (succeeded(infer(std::nullopt)))
    return success();
  bool isReported = false;
  {
    const ScopedDiagnosticHandler pass(op->getContext(), [&](Diagnostic &) {
      isReported = true;
      return failure();
    });
    (void)infer(op->getLoc());
  }
  return isReported ? failure() : op->emitOpError("failed to infer returned types");
}
Count totalElements(TypeRange types) {
  Count total;
  for (Type type : types)
    total += elementCount(type);
  return total;
}
Count totalBytes(TypeRange types) {
  Count total;
  for (Type type : types)
    total += tensorBytes(type);
  return total;
}
} // namespace detail

/// The bytes of a resource, empty where it has none.
static ArrayRef<char> resourceBytes(DenseResourceElementsAttr resource) {
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  return blob ? blob->getData() : ArrayRef<char>();
}

bool getConstantBytes(ElementsAttr value, TensorView &view, bool &isSplat) {
  auto type = cast<RankedTensorType>(value.getType());
  view.type = type;
  isSplat = false;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    ArrayRef<char> data = resourceBytes(resource);
    view.data = data.data();
    return static_cast<int64_t>(data.size()) == tensorBytes(type) && !data.empty();
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || type.getElementType().isInteger(1))
    return false;
  isSplat = dense.isSplat();
  view.data = dense.getRawData().data();
  return true;
}

LogicalResult copyConstant(ElementsAttr value, char *destination) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = tensorBytes(type);
  if (bytes == 0)
    return success();
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && type.getElementType().isInteger(1)) {
    for (bool bit : dense.getValues<bool>())
      *destination++ = bit;
    return success();
  }
  TensorView view;
  bool isSplat;
  if (!getConstantBytes(value, view, isSplat))
    return failure();
  if (!isSplat) {
    std::copy_n(view.data, bytes, destination); // Of no elements there may be no address.
    return success();
  }
  int64_t width = elementBytes(type.getElementType());
  for (int64_t at = 0; at < bytes; at += width)
    std::memcpy(destination + at, view.data, width);
  return success();
}

DenseElementsAttr makeDense(RankedTensorType type, ArrayRef<char> data) {
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> bits(data.size());
    std::transform(data.begin(), data.end(), bits.begin(), [](char c) { return c != 0; });
    return DenseElementsAttr::get(type, ArrayRef<bool>(bits));
  }
  // A splat is stored once.
  int64_t width = elementBytes(type.getElementType());
  if (static_cast<int64_t>(data.size()) > width &&
      std::memcmp(data.data(), data.data() + width, data.size() - width) == 0)
    return DenseElementsAttr::getFromRawBuffer(type, data.take_front(width));
  return DenseElementsAttr::getFromRawBuffer(type, data);
}

ElementsAttr makeResource(RankedTensorType type, StringRef name, ArrayRef<char> data,
                          std::shared_ptr<const void> owner) {
  AsmResourceBlob blob = UnmanagedAsmResourceBlob::allocateWithAlign(
      data, /*align=*/1, [owner = std::move(owner)](void *, size_t, size_t) {});
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}

ElementsAttr getConstant(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? constant.getValue() : ElementsAttr();
}

std::optional<double> getSplat(Value value) {
  auto dense = dyn_cast_if_present<DenseElementsAttr>(getConstant(value));
  if (!dense || !dense.isSplat())
    return std::nullopt;
  if (auto floats = dyn_cast<DenseFPElementsAttr>(dense)) {
    APFloat splat = floats.getSplatValue<APFloat>();
    bool loses;
    splat.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return splat.convertToDouble();
  }
  APInt splat = dense.getSplatValue<APInt>();
  return isUnsignedElement(dense.getElementType()) ? static_cast<double>(splat.getZExtValue())
                                                   : static_cast<double>(splat.getSExtValue());
}

std::optional<SmallVector<int64_t>> getIntegers(Value value) {
  ElementsAttr constant = getConstant(value);
  if (!constant || !isa<IntegerType>(constant.getElementType()) || tensorBytes(constant.getType()) > kMaxFoldedBytes)
    return std::nullopt;
  auto type = cast<RankedTensorType>(constant.getType());
  std::vector<char> bytes(tensorBytes(type));
  if (failed(copyConstant(constant, bytes.data())))
    return std::nullopt;
  int64_t width = elementBytes(type.getElementType());
  SmallVector<int64_t> result;
  for (size_t at = 0; at < bytes.size(); at += width) {
    uint64_t raw = 0;
    std::memcpy(&raw, &bytes[at], width);
    result.push_back(isUnsignedElement(type.getElementType()) ? static_cast<int64_t>(raw)
                                                              : llvm::SignExtend64(raw, width * 8));
  }
  return result;
}

FailureOr<SmallVector<int64_t>> broadcastShapes(ArrayRef<ArrayRef<int64_t>> shapes) {
  size_t rank = 0;
  for (ArrayRef<int64_t> shape : shapes)
    rank = std::max(rank, shape.size());
  SmallVector<int64_t> result(rank, 1);
  for (ArrayRef<int64_t> shape : shapes)
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t &extent = result[rank - shape.size() + i];
      if (extent == 1)
        extent = shape[i];
      else if (shape[i] != 1 && shape[i] != extent)
        return failure();
    }
  return result;
}

/// What depends on a step's extents is computed in the step.
static bool canEvaluate(Operation *op) {
  return op->hasTrait<Promises<EvaluateOpInterface>::Impl>() &&
         llvm::none_of(op->getResultTypes(), [](Type type) { return extentsOf(type) != nullptr; });
}

bool isConstantExpression(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op)
      return false;
    if (isa<ConstantOp>(op) || !seen.insert(op).second)
      continue;
    if (!canEvaluate(op))
      return false;
    llvm::append_range(open, op->getOperands());
  }
  return true;
}

ConstantExpressions::ConstantExpressions(Block &block) {
  // In order, so that contains() never recurses deeper than operators built since.
  for (Operation &op : block)
    for (Value result : op.getResults())
      contains(result);
}

bool ConstantExpressions::contains(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  bool constant =
      op && (isa<ConstantOp>(op) ||
             (canEvaluate(op) && llvm::all_of(op->getOperands(), [&](Value operand) { return contains(operand); })));
  known[value] = constant;
  return constant;
}

bool ConstantExpressions::runs(Operation *op) {
  return !isa<ReshapeOp, ConstantOp, StateOp>(op) &&
         !llvm::any_of(op->getResults(), [&](Value v) { return contains(v); });
}

} // namespace sluice::dataflow
