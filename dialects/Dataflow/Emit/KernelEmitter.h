//===- KernelEmitter.h - From operators to loops ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A kernel is one operator or one fused group. Values inside it are functions
// of an index: asking for an element of one emits the expression that computes
// it, down to loads of the kernel's arguments (as XLA's elemental IR emitter
// does). The loops come from the group's anchor, or are one nest over the
// result. Emitted dialects: func, scf, arith, math, vector and llvm pointers.
//
// A kernel is `func @name(env: !llvm.ptr, args: !llvm.ptr) -> i32`; each
// parallel region is a function of its own over [begin, end), run by the
// environment's parallel_for (sluice/Runtime/abi.h).
//
// For a device that runs grids, each parallel region is instead a function of
// one thread, in the module's `gpu.module @device`; the entry launches it
// through the environment's launch_grid. Grid.cpp has what differs.
//
// Where types have symbols (Extents.h), kernels compute with the extents of the
// step: an Extent is a constant, or a value that the function's entry computes
// from the environment's symbols. A grid gets the values that its threads need
// as arguments behind the tensors', and its number of blocks when it is launched.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_KERNELEMITTER_H
#define SLUICE_DATAFLOW_EMIT_KERNELEMITTER_H

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include "dialects/Dataflow/Emit/Work.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/ExtentBounds.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>
#include <string>
#include <type_traits>

namespace sluice::dataflow {

using emit::VectorTarget;

/// The gpu.module that holds the grids' gpu.funcs, whose known sizes are along x.
inline constexpr llvm::StringLiteral kDeviceModule = "device";
/// Threads that exchange values without shared memory.
inline constexpr int64_t kWarpThreads = 32;

/// Why `op` cannot run as grids; empty where it can. Text lives in the host's
/// memory, and a GPU has no functions of f64 but sqrt and roundings.
std::string gridProblem(mlir::Operation *op);

/// The bytes of a number, or of a C structure that the runtime reads.
template <typename T>
llvm::ArrayRef<char> bytesOf(const T &value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

/// What kernels are emitted as.
struct KernelStyle {
  KernelForm form = KernelForm::Chunks;
  MatmulPrecision precision = MatmulPrecision::F32;
  ChunkTimes chunks = {};
  /// How many tensors come before the results among the kernel's arguments; 0: those that operands are.
  unsigned numInputs = 0;
};

/// A list of extents, from numbers too.
struct ExtentList : Extents {
  ExtentList(llvm::ArrayRef<Extent> extents) : Extents(extents) {}
  ExtentList(llvm::ArrayRef<int64_t> numbers) : Extents(numbers.begin(), numbers.end()) {}
  ExtentList(const llvm::SmallVectorImpl<Extent> &extents) : Extents(extents.begin(), extents.end()) {}
  ExtentList(const llvm::SmallVectorImpl<int64_t> &numbers) : Extents(numbers.begin(), numbers.end()) {}
  ExtentList(std::initializer_list<Extent> extents) : Extents(extents) {}
};

/// The symbols that the kernel of an operator or group depends on; null where there are none.
SymbolsAttr symbolsOfKernel(mlir::Operation *op);

class KernelEmitter {
public:
  /// Emits the kernel of `op` (an operator of the dataflow dialect with ranked
  /// types, fused group or not) as a function named `symbol` at `module`'s end.
  /// Arguments in order: operands, results, workspace. Where operands share
  /// memory, `slots` says for each which argument it is (numbered without gaps);
  /// empty: each its own.
  static llvm::LogicalResult emit(mlir::Operation *op, llvm::StringRef symbol, mlir::ModuleOp module,
                                  const VectorTarget &target, llvm::ArrayRef<unsigned> slots = {},
                                  const KernelStyle &style = {});

  mlir::OpBuilder &builder() { return b; }
  mlir::Location loc() const { return location; }
  /// Of a grid's threads: scalars, one lane.
  const VectorTarget &target() const { return vectorTarget; }
  bool inGrids() const { return style.form == KernelForm::Grids; }
  MatmulPrecision matmulPrecision() const { return style.precision; }

  //===--- Reading ---------------------------------------------------------===//

  /// Element of a value of the kernel, as a scalar of its compute type.
  mlir::Value element(mlir::Value tensor, mlir::ValueRange indices);
  /// `lanes` consecutive elements along the last dimension, as a vector (a
  /// scalar for one lane). Needs isVectorizable(tensor) where lanes > 1.
  mlir::Value elements(mlir::Value tensor, mlir::ValueRange indices, int64_t lanes);
  /// Element-wise expressions over arguments only.
  bool isVectorizable(mlir::Value tensor);
  /// As element(), with numpy broadcasting of `tensor` to the indexed shape.
  mlir::Value broadcastElements(mlir::Value tensor, mlir::ValueRange indices, int64_t lanes);
  /// The data of an argument: an operand that is no expression.
  mlir::Value pointer(mlir::Value tensor);
  /// Whether a value is read from memory as it is.
  bool isArgument(mlir::Value tensor) const { return argumentIndex.count(tensor); }
  mlir::Value workspace();
  /// Merges neighbouring dimensions of `root` that have the same `classes` entry
  /// (all alike where empty) and that no operand broadcasts apart, for every
  /// value the element-wise expression is made of; extents of 1 go. Then
  /// extents(root) is what to index it by, and `members[k]` are the dimensions
  /// that became dimension k. An extent that depends on symbols is never 1.
  void collapse(mlir::Value root, llvm::ArrayRef<int64_t> classes,
                llvm::SmallVectorImpl<llvm::SmallVector<size_t>> &members);
  /// Extents to index a value by: its type's, or those it was collapsed to.
  Extents extents(mlir::Value tensor);

  //===--- Writing ---------------------------------------------------------===//

  /// Hands `lanes` elements of a result of the anchor over: applies the
  /// epilogue and stores. `value` is of compute type.
  void store(mlir::Value value, mlir::ValueRange indices, int64_t lanes = 1, unsigned result = 0);
  /// The same for a vector of any origin: element by element where an epilogue
  /// has no vector form.
  void storeLanes(mlir::Value value, mlir::ValueRange indices, int64_t lanes);
  /// Whether the epilogue takes rows by number: no operand of it broadcasts any of the result's dimensions but the last
  /// one apart from the others. Else each row's number must be divided by extents, which takes long where a step gives
  /// them.
  bool canStoreRows();
  /// storeLanes() for row number `row` of the result, where canStoreRows().
  void storeRow(mlir::Value value, mlir::Value row, mlir::Value column, int64_t lanes);
  /// Emits `body` where a contraction emitter's builder stands, for its sink.
  void inSink(mlir::OpBuilder &sink, llvm::function_ref<void()> body);
  /// How long the epilogue is, as the contraction emitters ask.
  emit::SinkStyle sinkStyle() const;
  /// What is stored is a function of the anchor's value, not that value.
  bool hasEpilogue() const;
  /// True where store() may be given vectors.
  bool canStoreVectors();
  /// Result memory that the anchor may read back: null where an epilogue makes
  /// what is stored another value.
  mlir::Value resultPointer(unsigned result);

  //===--- Loops -----------------------------------------------------------===//

  /// The work of a kernel with a single parallel loop, by CostOpInterface.
  Work work(Rate rate) const;
  /// The work of a loop that only reads an operand of `member`, and computes it where it is an expression.
  Work workBeside(mlir::Operation *member, Count bytes) const;
  /// A parallel loop over [0, extent) that does `work` in all; `body` emits the
  /// code for [begin, end) (index values) and may use nothing emitted outside.
  /// Chunks begin at multiples of `multiple`. A grid has a thread an item. Chunks are as long at all points of symbols:
  /// `work` is that at the upper bounds.
  void parallel(const Extent &extent, const Work &work,
                llvm::function_ref<void(mlir::Value begin, mlir::Value end)> body, int64_t multiple = 1);
  void parallel(int64_t extent, const Work &work, llvm::function_ref<void(mlir::Value begin, mlir::Value end)> body,
                int64_t multiple = 1) {
    parallel(Extent(extent), work, body, multiple);
  }
  /// The same over `rows` x `columns` positions: `body(row, from, to)` emits the
  /// code for columns [from, to) of one row. Chunks are of whole rows, a grid's
  /// threads have one position each.
  void parallelNest(const Extent &rows, const Extent &columns, const Work &work,
                    llvm::function_ref<void(mlir::Value row, mlir::Value from, mlir::Value to)> body);
  /// The same for rows of an array of extents `outer`: `body` gets the indices of a row.
  void parallelNest(const ExtentList &outer, const Extent &columns, const Work &work,
                    llvm::function_ref<void(llvm::ArrayRef<mlir::Value> row, mlir::Value from, mlir::Value to)> body);
  /// parallel() for items that each fold and walk rows of `length` elements with
  /// RowReducer: a team of a grid's threads shares an item.
  void parallelRows(const Extent &extent, const Extent &length, const Work &work,
                    llvm::function_ref<void(mlir::Value begin, mlir::Value end)> body);
  /// The loop over the parts that a chunk [begin, end) has items of, where each part has `length` of them, one part
  /// after the other: `body(part, from, to)` emits the code for items [from, to) of a part.
  void loopParts(mlir::Value begin, mlir::Value end, const Extent &length,
                 llvm::function_ref<void(mlir::Value part, mlir::Value from, mlir::Value to)> body);
  /// The loop over items [begin, end) of an array of `extents`: `body` gets the indices of each item.
  void loopItems(mlir::Value begin, mlir::Value end, const ExtentList &extents,
                 llvm::function_ref<void(llvm::ArrayRef<mlir::Value> indices)> body);
  /// scf.for from `lower` to `upper`.
  void loop(mlir::Value lower, mlir::Value upper, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  void loop(const Extent &lower, const Extent &upper, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  /// A loop that carries values; returns the last iteration's.
  llvm::SmallVector<mlir::Value>
  reduce(mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange initial,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  /// A perfect nest over `extents`; `body` gets one index a dimension.
  void nest(const ExtentList &extents, llvm::function_ref<void(mlir::ValueRange)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  /// An scf.if that yields the chosen branch's value.
  mlir::Value choose(mlir::Value condition, llvm::function_ref<mlir::Value()> onTrue,
                     llvm::function_ref<mlir::Value()> onFalse);

  //===--- Grids -----------------------------------------------------------===//

  /// A grid of `blocks` blocks of `threads` threads (a multiple of a warp, 1024
  /// at most); `body` emits one thread's code and may use nothing emitted outside.
  /// Nothing runs where a step has 0 blocks.
  void grid(const Extent &blocks, int64_t threads, llvm::function_ref<void()> body);
  mlir::Value threadIndex(); ///< Within the block, of index type.
  mlir::Value blockIndex();
  /// Memory of the block: `count` elements of a compute type, aligned to 32 bytes.
  mlir::Value sharedBuffer(mlir::Type type, int64_t count);
  /// The code of architectures from `least` (80: sm_80) on, and of older ones.
  void forArchitecture(unsigned least, llvm::function_ref<void()> newer, llvm::function_ref<void()> older);
  /// All threads of a block must come here.
  void barrier();
  /// Threads that share the current item: 1 but in parallelRows of a grid.
  int64_t teamThreads() const { return team; }
  mlir::Value teamPosition() { return position; }
  /// Joins the values of a team's threads; all get the result. All must come here.
  mlir::Value joinTeam(mlir::Value value, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join);
  /// What one thread of a team does for all.
  void once(llvm::function_ref<void()> body);

  /// What the runtime does for kernels, each a function of sluice_kernel_env.
  enum class Service : uint8_t { Strings, Ranks, Libraries };
  /// The kernel is this call: number `function` of the service's, with the addresses of operands, results and workspace
  /// (null where there is none) and `settings`, as abi.h says. What it returns, the kernel does.
  void callRuntime(Service service, uint32_t function, llvm::ArrayRef<char> settings);

  //===--- Programs of kernels ---------------------------------------------===//

  /// The builder of the code that runs once, between the loops of parallel().
  mlir::OpBuilder &entry() { return entryBuilder; }
  mlir::Value environment();
  /// Emits, by entry(), whether the caller wants the step to stop.
  mlir::Value isStopped();
  /// Emits, by entry(), the address of an argument: the operands are numbered first, then the results, then the
  /// workspace.
  mlir::Value entryPointer(unsigned argument);
  /// Emits, by entry(), an extent as an i64, at a place that dominates all of the entry.
  mlir::Value entryExtent(const Extent &extent);
  /// Emits, by entry(), a store of an i64 to a symbol's value. Extents of the entry are those before; parallel loops
  /// that follow have the new ones.
  void setSymbol(uint64_t symbol, mlir::Value value);
  /// Emits another operator's kernel beside this one and returns its symbol. If that operator has no kernel, emit()
  /// fails.
  std::string emitMember(mlir::Operation *member, llvm::ArrayRef<unsigned> slots);
  /// Emits, by entry(), a parallel loop over [0, extent) with one item a chunk. `body` emits the code of one item (an
  /// i64) in a function that gets the address `args`.
  void forEachAtOnce(int64_t extent, mlir::Value args,
                     llvm::function_ref<void(mlir::OpBuilder &, mlir::Value args, mlir::Value item)> body);
  /// Makes the kernel return `code`, a status as abi.h has it.
  void returns(mlir::Value code) { status = code; }

  //===--- Values ----------------------------------------------------------===//

  mlir::Value index(int64_t value);
  /// A constant, or the value that the entry of the function being emitted computes.
  mlir::Value index(const Extent &extent);
  /// The same where it is above 0, else 1: loops of no iterations still divide by extents.
  mlir::Value divisor(const Extent &extent);
  /// A constant of a compute type, scalar or vector.
  mlir::Value constant(mlir::Type type, double value);
  /// An extent as a number of a compute type, scalar or vector.
  mlir::Value number(mlir::Type type, const Extent &extent);
  mlir::Value add(mlir::Value a, mlir::Value c); ///< index + index
  mlir::Value mul(mlir::Value a, int64_t c);     ///< index * constant
  mlir::Value mul(mlir::Value a, const Extent &c);
  /// The window whose tap number `tap` covers `element`, and whether there is one: o with
  /// o * stride - padLow + tap * dilation = element and 0 <= o < windows.
  struct CoveringWindow {
    mlir::Value position, exists;
  };
  CoveringWindow windowOver(mlir::Value element, mlir::Value tap, int64_t stride, int64_t padLow, int64_t dilation,
                            const Extent &windows);
  /// The taps of a window from `start` on that meet positions 0 .. extent-1, of `taps` that lie `dilation` apart: low
  /// to high, none where both are equal. A loop over them is as long as the image at most, however large the window is.
  struct TapRange {
    mlir::Value low, high;
  };
  TapRange tapsInside(mlir::Value start, const Extent &extent, int64_t taps, int64_t dilation);
  /// How many taps come before position `limit`.
  mlir::Value tapsBefore(mlir::Value start, const Extent &limit, int64_t taps, int64_t dilation);
  /// Row-major digits of `linear` in base `extents`. Where a step gives extents, linearize() of these digits finds
  /// `linear` again, so that no division remains but for a digit that is used on its own.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear, const ExtentList &extents);
  mlir::Value linearize(mlir::ValueRange indices, const ExtentList &extents);
  /// The indices in an array of extents `to` of what is at `indices` of one of extents `from`, which has as many
  /// elements. Dimensions that are the same in both keep their index.
  llvm::SmallVector<mlir::Value> reshape(mlir::ValueRange indices, const ExtentList &from, const ExtentList &to);
  /// Address of element `linear` of an array of `elementType`.
  mlir::Value address(mlir::Value base, mlir::Type elementType, mlir::Value linear);
  /// Loads `lanes` elements as compute type; stores from it.
  mlir::Value load(mlir::Value base, mlir::Type elementType, mlir::Value linear, int64_t lanes = 1);
  void store(mlir::Value base, mlir::Type elementType, mlir::Value linear, mlir::Value value);
  /// Scratch on the stack of the current chunk: `count` elements.
  mlir::Value stackBuffer(mlir::Type elementType, int64_t count);

private:
  struct Bound {
    mlir::Value value;
    llvm::SmallVector<mlir::Value> indices;
    int64_t lanes = 1;
  };
  struct Memo {
    llvm::SmallVector<mlir::Value> indices;
    int64_t lanes;
    mlir::Value value;
  };

  /// Where the values of extents are in a function: its entry computes each of them once, or, of a grid, has them as
  /// arguments.
  struct ExtentValues {
    mlir::Operation *last = nullptr;        ///< What they follow.
    llvm::SmallVector<mlir::Value> symbols; ///< Their values; of a grid, none.
    llvm::DenseMap<mlir::AffineExpr, mlir::Value> values, divisors;
  };
  /// Loads the symbols' values, where `builder` stands.
  ExtentValues loadSymbols(mlir::OpBuilder &builder, mlir::Value address);
  mlir::Value valueOf(mlir::AffineExpr expression, ExtentValues &in);
  /// The argument of the grid being emitted that has the value of an expression.
  mlir::Value gridArgument(mlir::AffineExpr expression);
  /// A number and the digits it was split into, without dimensions of 1 at both ends.
  struct Split {
    mlir::Value linear;
    llvm::SmallVector<mlir::Value> digits;
    Extents extents;
  };
  /// Keeps a split for linearize() where a step gives one of the extents.
  void noteSplit(mlir::Value linear, llvm::ArrayRef<mlir::Value> digits, llvm::ArrayRef<Extent> extents);
  /// The split that indices [0, last] of an array of `extents` end with; null if none.
  const Split *splitEndingAt(size_t last, mlir::ValueRange indices, llvm::ArrayRef<Extent> extents) const;
  /// The parts of `length` items that a chunk [begin, end) has items of: the first, and the one after the last.
  std::pair<mlir::Value, mlir::Value> partsOf(mlir::Value begin, mlir::Value end, const Extent &length);
  /// The items of one of them that the chunk has, counted from the part's first.
  std::pair<mlir::Value, mlir::Value> itemsOfPart(mlir::Value part, mlir::Value begin, mlir::Value end,
                                                  const Extent &length);
  /// What chunk functions get: the kernel's arguments. Where there are symbols, the address of those and, second, the
  /// symbols' address.
  mlir::Value chunkArguments();
  static constexpr int32_t kContextSymbols = 1;

  KernelEmitter(mlir::Operation *op, const VectorTarget &target, const KernelStyle &style, mlir::ModuleOp module,
                llvm::StringRef symbol);
  void emitBody();
  /// The kernel is a library's call where there is such a library, then a grid for
  /// the epilogue, less what the library adds itself; else its own grids. False, and
  /// nothing, where an operand is an expression, or the result has no room for what
  /// the epilogue reads.
  bool emitLibraryCall(const LibraryCall &call);
  /// Emits the call of a descriptor's grid.
  void launchGrid(llvm::StringRef descriptor, const Extent &blocks);
  /// What a grid gets: the kernel's arguments; behind those, where there are any, values of extents.
  mlir::Value gridArguments();
  /// What a service is told.
  struct Settings {
    mlir::Value address;
    int64_t bytes;
  };
  /// In a constant of the module.
  Settings constantSettings(llvm::ArrayRef<char> bytes);
  /// Of a library's call: each an int64_t.
  Settings callSettings(llvm::ArrayRef<Extent> numbers);
  /// Calls a service with the addresses of those arguments (operands, results,
  /// workspace, by number); returns what it returns.
  mlir::Value requestService(Service service, mlir::Value function, const Settings &settings,
                             llvm::ArrayRef<int64_t> arguments);
  void callParallelFor(mlir::func::FuncOp chunk, const Extent &extent, int64_t grain, mlir::Value args);
  /// The work of the loops over so many elements of a result.
  Work loopWork(unsigned result, Count elements, int64_t lanes) const;
  /// The loops of a group without anchor.
  void emitLoops(unsigned result, mlir::Value value);
  void emitGridLoops(unsigned result, mlir::Value value);
  /// The transposition that an expression is an element-wise function of, where
  /// tiles of it pay.
  TransposeOp tiledTranspose(mlir::Value root);
  void emitGridTranspose(unsigned result, mlir::Value value, TransposeOp transpose);
  void emitChunkTranspose(unsigned result, mlir::Value value, TransposeOp transpose);
  mlir::Value shuffle(mlir::Value value, int64_t distance);
  mlir::Value compute(mlir::Value tensor, mlir::ValueRange indices, int64_t lanes);
  /// Collapses the epilogue to rows and columns; false where they are not two dimensions then.
  bool collapseRows();

  mlir::Operation *kernelOp;
  VectorTarget vectorTarget;
  KernelStyle style;
  mlir::ModuleOp module;
  std::string symbol;
  bool readsExpression = false; ///< Some loops ask for the memory of a value that a member of the group computes.
  mlir::OpBuilder b;
  mlir::Location location;

  mlir::func::FuncOp kernel;           ///< The entry; `parallel` appends calls to it.
  mlir::OpBuilder entryBuilder;        ///< At the entry's end.
  mlir::Value status;                  ///< What the kernel returns; null: 0.
  mlir::FunctionOpInterface chunkBody; ///< The region being emitted.
  mlir::Value wholeBegin, wholeEnd;    ///< Of that region, where one chunk has all items; else null.
  unsigned numChunks = 0, numMembers = 0;
  bool hasFailedMember = false;
  int64_t team = 1;                              ///< Of the grid being emitted.
  mlir::Value position;                          ///< In the team.
  int64_t sharedBytes = 0;                       ///< Of the grid being emitted.
  llvm::SmallVector<mlir::AffineExpr> gridWords; ///< Extents whose values that grid gets.
  std::optional<int64_t> mostOwnBlocks;          ///< Of that grid, where a step says how many it has.
  int64_t mostBlocks = 0, mostWords = 0;         ///< Of all grids: blocks, and arguments.
  mlir::Operation *absorbed = nullptr;           ///< An addition that the library has made,
  mlir::Value absorbedSum;                       ///< and what it has added to.
  int64_t accessLanes = 1;                       ///< Vectors of so many elements lie at multiples of their size.

  /// Kernel argument number of operands (or the group's block arguments).
  llvm::DenseMap<mlir::Value, unsigned> argumentIndex;
  llvm::SmallVector<mlir::Value> pointers; ///< In the region being emitted.
  llvm::SmallVector<mlir::Type> argumentElement;
  unsigned numOperands = 0;
  /// Position in the kernel's args of operands, results, workspace.
  llvm::SmallVector<unsigned> argumentSlots;
  llvm::SmallVector<mlir::Value> yielded; ///< What result i stores.
  mlir::Operation *anchor = nullptr;
  llvm::DenseMap<mlir::Value, Bound> bound;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Memo>> memo;
  llvm::DenseMap<mlir::Value, Extents> collapsed;
  llvm::DenseMap<mlir::Value, Split> splits; ///< Of the region being emitted, by their last digits.
  SymbolsAttr symbols;                       ///< That the kernel depends on; null: none.
  ExtentValues entryExtents, bodyExtents;    ///< Of the entry, and of the region being emitted.
  mlir::Value symbolsAddress, chunkContext;  ///< In the entry.
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_KERNELEMITTER_H
