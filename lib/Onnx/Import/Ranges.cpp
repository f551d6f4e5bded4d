//===- Ranges.cpp - One program for ranges of dimensions ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Ranges.h"

#include "NodeContext.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/FoundSymbols.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"

#include "sluice/Support/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

class Generalizer {
public:
  Generalizer(SymbolsAttr symbols, ArrayRef<Point> points, ArrayRef<OwningOpRef<ModuleOp>> programs,
              std::vector<Point> &ties)
      : symbols(symbols), points(points), ties(ties), numbers(programs.size()) {
    for (const OwningOpRef<ModuleOp> &program : programs)
      functions.push_back(*ModuleOp(program.get()).getOps<func::FuncOp>().begin());
  }

  Status run();

private:
  /// What stands at one place of the programs, an entry for each.
  using Operations = SmallVector<Operation *>;

  Status visit(ArrayRef<Block *> blocks, Operation *around);
  Status visit(const Operations &ops);
  /// Gives the first program's value its extents.
  Status unite(const SmallVector<Value> &values, Operation *op);
  Status uniteIndexRanges();
  Status checkFoundInLoops();
  Status compareAttributes(const Operations &ops);
  Status uniteConstants(const Operations &ops);
  Status uniteSlices(const Operations &ops);
  /// Puts a value in the place of the first program's.
  void replaceBy(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    const size_t number = numbers[0].lookup(op->getResult(0));
    numbers[0][value] = number;
  }
  /// An extent that has these values at the points.
  std::optional<Extent> fit(ArrayRef<int64_t> values);
  /// A tensor of these numbers, each with its values at the points.
  Value numbersAt(OpBuilder &builder, Location loc, ArrayRef<Extent> values, RankedTensorType type) const;

  Status differ(Operation *op, size_t other, const std::string &what) const;

  SymbolsAttr symbols;
  ArrayRef<Point> points;
  std::vector<Point> &ties;
  SmallVector<func::FuncOp> functions;
  /// Values by the order of their definitions, in each program.
  SmallVector<llvm::DenseMap<Value, size_t>> numbers;
  size_t numbered = 0;
  /// Expressions found so far.
  dataflow::Extents basis;
};

Status Generalizer::differ(Operation *op, size_t other, const std::string &what) const {
  return makeError(ErrorCode::Unsupported, "node '", excerpt(nodeName(op->getLoc())), "' is imported differently for ",
                   describePoint(symbols, points[other]), " and for ", describePoint(symbols, points[0]), ": ", what,
                   ", option '--dim', give smaller ranges or single sizes");
}

std::optional<Extent> Generalizer::fit(ArrayRef<int64_t> values) {
  std::optional<Extent> found = fitExtent(symbols, points, values, basis, ties);
  if (found && !found->isConstant() && !llvm::is_contained(basis, *found))
    basis.push_back(*found);
  return found;
}

Value Generalizer::numbersAt(OpBuilder &builder, Location loc, ArrayRef<Extent> values, RankedTensorType type) const {
  SmallVector<AffineExpr> expressions;
  for (const Extent &value : values)
    expressions.push_back(value.expr() ? value.expr() : builder.getAffineConstantExpr(value.most()));
  auto map = AffineMap::get(0, static_cast<unsigned>(symbols.size()), expressions, builder.getContext());
  return ExtentsOp::create(builder, loc, type, AffineMapAttr::get(map), symbols);
}

Status Generalizer::unite(const SmallVector<Value> &values, Operation *op) {
  for (auto [i, value] : llvm::enumerate(values))
    numbers[i].try_emplace(value, numbered);
  ++numbered;
  auto first = dyn_cast<RankedTensorType>(values[0].getType());
  for (auto [i, value] : llvm::enumerate(values)) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (value.getType() != values[0].getType() &&
        (!first || !type || type.getElementType() != first.getElementType() || type.getRank() != first.getRank()))
      return differ(op, i, "the types of its results differ");
  }
  if (!first)
    return {};
  dataflow::Extents extents;
  for (int64_t dim = 0; dim < first.getRank(); ++dim) {
    SmallVector<int64_t> sizes;
    for (Value value : values)
      sizes.push_back(typeOf(value).getDimSize(dim));
    const auto *other = llvm::find_if(sizes, [&](int64_t size) { return size != sizes[0]; });
    const auto *larger = llvm::find_if(sizes, [&](int64_t size) { return size > sizes[0]; });
    if (larger != sizes.end())
      return differ(op, larger - sizes.begin(),
                    concat("dimension ", dim, " of its result has ", *larger, " and ", sizes[0],
                           " elements, but a larger size must not give fewer elements"));
    std::optional<Extent> extent = fit(sizes);
    if (!extent)
      return differ(op, other - sizes.begin(),
                    concat("dimension ", dim, " of its result has ", *other, " and ", sizes[0],
                           " elements, and no sum, product or quotient of the sizes gives these numbers"));
    extents.push_back(*extent);
  }
  Value(values[0]).setType(tensorOf(extents, first.getElementType()));
  return {};
}

Status Generalizer::uniteConstants(const Operations &ops) {
  auto first = cast<ConstantOp>(ops[0]);
  const ElementsAttr value = first.getValue();
  auto type = cast<RankedTensorType>(first.getType());
  bool isSame = true;
  for (auto [i, op] : llvm::enumerate(ops)) {
    ElementsAttr other = cast<ConstantOp>(op).getValue();
    TensorView a, c;
    bool isSplatA = false, isSplatC = false;
    if (other == value)
      continue;
    const bool areRead = getConstantBytes(value, a, isSplatA) && getConstantBytes(other, c, isSplatC);
    const auto size = static_cast<size_t>(isSplatA ? dataflow::elementBytes(type.getElementType())
                                                   : dataflow::tensorBytes(a.type).value());
    isSame &= areRead && isSplatA == isSplatC && (isSplatA || a.type == c.type) &&
              (a.data == c.data || std::memcmp(a.data, c.data, size) == 0);
  }
  if (isSame) {
    if (auto splat = dyn_cast<SplatElementsAttr>(value); splat && splat.getType() != type)
      first.setValueAttr(splat.resizeSplat(type));
    return {};
  }
  // Numbers that follow from the sizes: as many at each point, or a row from 0 or another number on.
  constexpr int64_t kMostNumbers = 64;
  SmallVector<SmallVector<double>> rows;
  for (auto [i, op] : llvm::enumerate(ops)) {
    ElementsAttr other = cast<ConstantOp>(op).getValue();
    std::optional<SmallVector<double>> row;
    if (elementCount(other.getShapedType()) <= kMostNumbers)
      row = NodeContext::numbersOf(other);
    if (!row || llvm::any_of(*row, [](double x) { return x != std::rint(x) || std::abs(x) > 0x1p53; }))
      return differ(first, i, "its constant values differ");
    rows.push_back(*row);
  }
  const bool isRow = llvm::any_of(rows, [&](const auto &row) { return row.size() != rows[0].size(); });
  auto valuesOf = [&](llvm::function_ref<double(ArrayRef<double>)> pick) {
    SmallVector<int64_t> values;
    for (const SmallVector<double> &row : rows)
      values.push_back(static_cast<int64_t>(pick(row)));
    return fit(values);
  };
  OpBuilder builder(first);
  TensorBuilder build(builder, first.getLoc());
  const Type index = builder.getI64Type();
  Value united;
  if (!isRow) {
    dataflow::Extents elements;
    for (size_t k = 0; k < rows[0].size(); ++k) {
      std::optional<Extent> element = valuesOf([&](ArrayRef<double> row) { return row[k]; });
      if (!element)
        return differ(first, 1, "its constant values differ");
      elements.push_back(*element);
    }
    united = numbersAt(builder, first.getLoc(), elements, RankedTensorType::get(type.getShape(), index));
  } else {
    const int64_t step = rows[0].size() > 1 ? static_cast<int64_t>(rows[0][1] - rows[0][0]) : 1;
    for (auto [i, row] : llvm::enumerate(rows))
      for (size_t k = 1; k < row.size(); ++k)
        if (row[k] - row[k - 1] != static_cast<double>(step))
          return differ(first, i, "its constant values differ");
    std::optional<Extent> start = valuesOf([&](ArrayRef<double> row) { return row.empty() ? 0 : row[0]; });
    if (!start)
      return differ(first, 1, "its constant values differ");
    const dataflow::Extents extents = extentsOf(type);
    auto list = tensorOf({productOf(extents)}, index);
    Value from = start->isConstant() ? build.splat(index, static_cast<double>(start->most()))
                                     : numbersAt(builder, first.getLoc(), {*start}, RankedTensorType::get({}, index));
    united = build.create<RangeOp>({from, build.splat(index, static_cast<double>(step))}, {}, {list});
    if (united && type.getRank() != 1)
      united = build.create<ReshapeOp>({united}, {}, {tensorOf(extents, index)});
  }
  united = build.cast(united, type.getElementType());
  if (!united)
    return differ(first, 1, "its constant values differ");
  replaceBy(first, united);
  return {};
}

/// Where a slice starts at other places, its part is gathered by positions that are counted from there.
Status Generalizer::uniteSlices(const Operations &ops) {
  auto first = cast<SliceOp>(ops[0]);
  const dataflow::Extents from = extentsOf(first.getInput()), to = extentsOf(first.getResult());
  const Type element = typeOf(first.getInput()).getElementType();
  OpBuilder builder(first);
  builder.setInsertionPointAfter(first);
  TensorBuilder build(builder, first.getLoc());
  SmallVector<int64_t> starts(first.getStarts());
  dataflow::Extents between(to);
  SmallVector<std::pair<int64_t, Extent>> moved;
  for (size_t dim = 0; dim < starts.size(); ++dim) {
    SmallVector<int64_t> values;
    for (Operation *op : ops)
      values.push_back(cast<SliceOp>(op).getStarts()[dim]);
    if (llvm::all_equal(values))
      continue;
    std::optional<Extent> start = fit(values);
    if (!start)
      return differ(first, 1, concat("it starts at different positions in dimension ", dim));
    moved.emplace_back(static_cast<int64_t>(dim), *start);
    starts[dim] = 0;
    between[dim] = from[dim];
  }
  SmallVector<int64_t> steps(first.getSteps());
  for (auto &[dim, start] : moved)
    steps[dim] = 1;
  Value value = first.getInput();
  if (between != from || llvm::any_of(steps, [](int64_t step) { return step != 1; }))
    value = build.create<SliceOp>({value}, {build.list("starts", starts), build.list("steps", steps)},
                                  {tensorOf(between, element)});
  const Type index = builder.getI64Type();
  for (auto &[dim, start] : moved) {
    Value begin = numbersAt(builder, first.getLoc(), {start}, RankedTensorType::get({}, index));
    Value positions = build.create<RangeOp>({begin, build.splat(index, static_cast<double>(first.getSteps()[dim]))}, {},
                                            {tensorOf({to[dim]}, index)});
    value = build.create<GatherOp>({value, positions}, build.integer("axis", dim));
  }
  if (!value)
    return differ(first, 1, "it starts at different positions: " + build.message());
  replaceBy(first, value);
  return {};
}

Status Generalizer::compareAttributes(const Operations &ops) {
  for (auto [i, op] : llvm::enumerate(ops)) {
    if (op->getAttrDictionary() == ops[0]->getAttrDictionary())
      continue;
    // A loop runs as often as it may at the upper bounds, or as its stacks have room.
    auto loop = dyn_cast<LoopOp>(op);
    const bool runsLess = loop && loop.getMost() <= cast<LoopOp>(ops[0]).getMost();
    for (NamedAttribute attribute : ops[0]->getAttrDictionary())
      if (op->getAttr(attribute.getName()) != attribute.getValue() &&
          !(runsLess && attribute.getName() == loop.getMostAttrName()))
        return differ(ops[0], i, concat("its attribute '", attribute.getName().str(), "' differs"));
    if (op->getAttrDictionary().size() != ops[0]->getAttrDictionary().size())
      return differ(ops[0], i, "its attributes differ");
  }
  return {};
}

Status Generalizer::visit(const Operations &ops) {
  for (auto [i, op] : llvm::enumerate(ops)) {
    if (op->getName() != ops[0]->getName() || op->getNumOperands() != ops[0]->getNumOperands() ||
        op->getNumResults() != ops[0]->getNumResults() || op->getNumRegions() != ops[0]->getNumRegions())
      return differ(ops[0], i,
                    concat("it becomes different operators, '", op->getName().getStringRef().str(), "' and '",
                           ops[0]->getName().getStringRef().str(), "'"));
    for (auto [a, c] : llvm::zip(op->getOperands(), ops[0]->getOperands()))
      if (numbers[i].lookup(a) != numbers[0].lookup(c))
        return differ(ops[0], i, "its operands differ");
  }
  for (unsigned result = 0; result < ops[0]->getNumResults(); ++result) {
    SmallVector<Value> values;
    for (Operation *op : ops)
      values.push_back(op->getResult(result));
    SLUICE_RETURN_IF_ERROR(unite(values, ops[0]));
  }
  for (unsigned region = 0; region < ops[0]->getNumRegions(); ++region) {
    SmallVector<Block *> blocks;
    for (auto [i, op] : llvm::enumerate(ops)) {
      if (op->getRegion(region).getBlocks().size() != 1)
        return differ(ops[0], i, "its programs differ");
      blocks.push_back(&op->getRegion(region).front());
    }
    SLUICE_RETURN_IF_ERROR(visit(blocks, ops[0]));
  }
  if (isa<ConstantOp>(ops[0]))
    return uniteConstants(ops);
  if (isa<SliceOp>(ops[0]) && llvm::any_of(ops, [&](Operation *op) {
        return cast<SliceOp>(op).getStarts() != cast<SliceOp>(ops[0]).getStarts();
      }))
    return uniteSlices(ops);
  return compareAttributes(ops);
}

Status Generalizer::visit(ArrayRef<Block *> blocks, Operation *around) {
  for (unsigned argument = 0; argument < blocks[0]->getNumArguments(); ++argument) {
    SmallVector<Value> values;
    for (auto [i, block] : llvm::enumerate(blocks)) {
      if (block->getNumArguments() != blocks[0]->getNumArguments())
        return differ(around, i, "the arguments of its programs differ");
      values.push_back(block->getArgument(argument));
    }
    SLUICE_RETURN_IF_ERROR(unite(values, around));
  }
  SmallVector<SmallVector<Operation *>> lists;
  for (Block *block : blocks)
    lists.push_back(llvm::to_vector(llvm::make_pointer_range(*block)));
  for (size_t position = 0; position < lists[0].size(); ++position) {
    Operations ops;
    for (auto [i, list] : llvm::enumerate(lists)) {
      if (list.size() <= position || list[position]->getName() != lists[0][position]->getName())
        return differ(lists[0][position], i,
                      concat("it becomes different operators, '",
                             list.size() <= position ? "none" : list[position]->getName().getStringRef().str(),
                             "' and '", lists[0][position]->getName().getStringRef().str(), "'"));
      ops.push_back(list[position]);
    }
    SLUICE_RETURN_IF_ERROR(visit(ops));
  }
  return {};
}

/// What indices among the arguments may be, as expressions where it follows from the sizes.
Status Generalizer::uniteIndexRanges() {
  func::FuncOp function = functions[0];
  const StringRef name = DataflowDialect::RangeAttrHelper::getNameStr();
  for (unsigned argument = 0; argument < function.getNumArguments(); ++argument) {
    SmallVector<DenseI64ArrayAttr> ranges;
    for (func::FuncOp each : functions)
      ranges.push_back(each.getArgAttrOfType<DenseI64ArrayAttr>(argument, name));
    if (llvm::all_equal(ranges))
      continue;
    SmallVector<AffineExpr> numbers;
    for (unsigned k = 0; k < 3; ++k) {
      // No index is allowed of a dimension without elements: such points say nothing.
      SmallVector<int64_t> values;
      SmallVector<Point> known;
      for (auto [range, point] : llvm::zip(ranges, points))
        if (range) {
          values.push_back(range[k]);
          known.push_back(point);
        }
      // Extents are not negative, numbers from the end are.
      const bool isNegative = llvm::any_of(values, [](int64_t value) { return value < 0; });
      for (int64_t &value : values)
        value = isNegative ? -value : value;
      std::optional<Extent> number = fitExtent(symbols, known, values, basis, ties);
      if (!number)
        return makeError(ErrorCode::Unsupported, "the largest valid index in input '",
                         inputName(function, argument).str(),
                         "' is not a sum, product or quotient of the dimensions with ranges, option '--dim', give "
                         "smaller ranges or single sizes");
      AffineExpr expression =
          number->isConstant() ? getAffineConstantExpr(number->most(), function.getContext()) : number->expr();
      numbers.push_back(isNegative ? -expression : expression);
    }
    function.setArgAttr(
        argument, name,
        AffineMapAttr::get(AffineMap::get(0, static_cast<unsigned>(symbols.size()), numbers, function.getContext())));
  }
  return {};
}

/// What an iteration finds is the extent of nothing behind it, and of nothing in front of where it is found.
Status Generalizer::checkFoundInLoops() {
  func::FuncOp function = functions[0];
  Operation *leaking = nullptr;
  function.walk([&](LoopOp loop) {
    sortBehindFinders(loop.getBody().front());
    // What others find too is known outside.
    SymbolSet outside = 0;
    function.walk([&](TakeFirstOp take) {
      if (!loop->isProperAncestor(take))
        outside |= symbolsFoundBy(take);
    });
    if (symbolsOfTypes(loop.getResultTypes()) & symbolsFoundBy(loop) & ~outside)
      leaking = loop;
  });
  if (!leaking)
    return {};
  return makeError(
      ErrorCode::Unsupported, "node '", excerpt(nodeName(leaking->getLoc())),
      "' is a loop whose results have an extent that depends on the data of an iteration, bound the number of its "
      "iterations with '--max-iterations' or '--bound'");
}

Status Generalizer::run() {
  func::FuncOp function = functions[0];
  SmallVector<Block *> blocks;
  for (func::FuncOp each : functions)
    blocks.push_back(&each.getBody().front());
  SLUICE_RETURN_IF_ERROR(visit(blocks, function));
  SLUICE_RETURN_IF_ERROR(uniteIndexRanges());
  SLUICE_RETURN_IF_ERROR(checkFoundInLoops());
  // What constants and slices were united to.
  Block &body = *blocks[0];
  function.setType(
      FunctionType::get(function.getContext(), body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  function.walk([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
  const FirstError said(function.getContext());
  if (failed(mlir::verify(function)))
    return makeError(ErrorCode::Unsupported,
                     "the model cannot be compiled for these ranges: ", said.messageOr("its types do not fit together"),
                     ", option '--dim', give single sizes");
  return {};
}

} // namespace

std::string describePoint(SymbolsAttr symbols, const Point &point) {
  std::string text;
  for (auto [name, value] : llvm::zip(symbols.getNames(), point))
    text += concat(text.empty() ? "" : ", ", excerpt(name.str()), "=", value);
  return text;
}

Expected<OwningOpRef<ModuleOp>> generalize(SymbolsAttr symbols, ArrayRef<Point> points,
                                           std::vector<OwningOpRef<ModuleOp>> programs, std::vector<Point> &ties) {
  SLUICE_RETURN_IF_ERROR(Generalizer(symbols, points, programs, ties).run());
  return std::move(programs.front());
}

} // namespace sluice::onnximport
