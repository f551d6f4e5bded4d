//===- KernelEmitter.h - From operators to loops ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A kernel is one operator or one fused group. Values inside it are functions of an index: a request for an element
// emits the expression that computes it, down to loads of the kernel's arguments (as in XLA's elemental IR emitter).
// The group's anchor determines the loops; without an anchor, they are one nest over the result. Emitted dialects:
// func, scf, arith, math, vector and llvm pointers.
//
// A kernel is `func @name(env: !llvm.ptr, args: !llvm.ptr) -> i32`; each
// parallel region is a function of its own over [begin, end), run by the
// environment's parallel_for (sluice/Runtime/abi.h).
//
// For a device that runs grids, each parallel region is instead a function of
// one thread, in the module's `gpu.module @device`; the entry launches it
// through the environment's launch_grid. Grid.cpp has the differences.
//
// If types have symbols (Extents.h), kernels compute with the extents of the step. An Extent is a constant, or a value
// that the function's entry computes from the environment's symbols. A grid gets the values that its threads need as
// arguments after the tensors', and its number of blocks at the launch.
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
/// The threads of a warp, which exchange values without shared memory.
inline constexpr int64_t kWarpThreads = 32;

/// Why `op` cannot run as grids; empty if it can. Text is in the host's memory, and the only functions of f64 on a GPU
/// are sqrt and roundings.
std::string gridProblem(mlir::Operation *op);

/// The bytes of a number, or of a C structure that the runtime reads.
template <typename T>
llvm::ArrayRef<char> bytesOf(const T &value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

/// The form in which kernels are emitted.
struct KernelStyle {
  KernelForm form = KernelForm::Chunks;
  MatmulPrecision precision = MatmulPrecision::F32;
  ChunkTimes chunks = {};
  /// How many arguments of the kernel come before the results; 0 for the tensors of the operands.
  unsigned numInputs = 0;
};

/// A list of extents, which numbers convert to.
struct ExtentList : Extents {
  ExtentList(llvm::ArrayRef<Extent> extents) : Extents(extents) {}
  ExtentList(llvm::ArrayRef<int64_t> numbers) : Extents(numbers.begin(), numbers.end()) {}
  ExtentList(const llvm::SmallVectorImpl<Extent> &extents) : Extents(extents.begin(), extents.end()) {}
  ExtentList(const llvm::SmallVectorImpl<int64_t> &numbers) : Extents(numbers.begin(), numbers.end()) {}
  ExtentList(std::initializer_list<Extent> extents) : Extents(extents) {}
};

/// The symbols that the kernel of an operator or group depends on; null if there are none.
SymbolsAttr symbolsOfKernel(mlir::Operation *op);

class KernelEmitter {
public:
  /// Emits the kernel of `op` (an operator of the dataflow dialect with ranked
  /// types, fused group or not) as a function named `symbol` at `module`'s end.
  /// The arguments are the operands, the results and the workspace, in this order. If operands share memory, `slots`
  /// has the argument's number of each operand, without gaps; if it is empty, each operand has its own argument.
  static llvm::LogicalResult emit(mlir::Operation *op, llvm::StringRef symbol, mlir::ModuleOp module,
                                  const VectorTarget &target, llvm::ArrayRef<unsigned> slots = {},
                                  const KernelStyle &style = {});

  mlir::OpBuilder &builder() { return b; }
  mlir::Location loc() const { return location; }
  /// For a grid's threads, the target has one lane.
  const VectorTarget &target() const { return vectorTarget; }
  bool inGrids() const { return style.form == KernelForm::Grids; }
  MatmulPrecision matmulPrecision() const { return style.precision; }

  //===--- Reading ---------------------------------------------------------===//

  /// An element of a value of the kernel, as a scalar of its compute type.
  mlir::Value element(mlir::Value tensor, mlir::ValueRange indices);
  /// `lanes` consecutive elements along the last dimension, as a vector (a scalar for one lane). If lanes > 1,
  /// isVectorizable(tensor) must hold.
  mlir::Value elements(mlir::Value tensor, mlir::ValueRange indices, int64_t lanes);
  /// Whether elements() can return vectors: only for element-wise expressions of arguments.
  bool isVectorizable(mlir::Value tensor);
  /// Does what elements() does, and broadcasts `tensor` to the indexed shape like numpy.
  mlir::Value broadcastElements(mlir::Value tensor, mlir::ValueRange indices, int64_t lanes);
  /// The address of an argument, which is an operand that is not an expression.
  mlir::Value pointer(mlir::Value tensor);
  /// Whether a value is read unchanged from memory.
  bool isArgument(mlir::Value tensor) const { return argumentIndex.count(tensor); }
  mlir::Value workspace();
  /// Merges neighbouring dimensions of `root`, and of all values of its element-wise expression. Merged dimensions have
  /// the same entry of `classes` (an empty list is one class), and no operand broadcasts one of them without the other.
  /// Drops extents of 1; an extent that depends on symbols never counts as 1. Afterwards extents(root) are the extents
  /// to index by, and `members[k]` are the dimensions that became dimension k.
  void collapse(mlir::Value root, llvm::ArrayRef<int64_t> classes,
                llvm::SmallVectorImpl<llvm::SmallVector<size_t>> &members);
  /// The extents to index a value by: those of its type, or those that collapse() gave it.
  Extents extents(mlir::Value tensor);

  //===--- Writing ---------------------------------------------------------===//

  /// Takes `lanes` elements of a result of the anchor, applies the epilogue and stores them. `value` is of compute
  /// type.
  void store(mlir::Value value, mlir::ValueRange indices, int64_t lanes = 1, unsigned result = 0);
  /// Does the same for any vector, element by element if the epilogue has no vector form.
  void storeLanes(mlir::Value value, mlir::ValueRange indices, int64_t lanes);
  /// Whether the epilogue can take rows by number, which requires that each operand of it broadcasts all or none of the
  /// result's dimensions before the last. Otherwise each row's number must be divided by extents, which is slow if a
  /// step gives them.
  bool canStoreRows();
  /// storeLanes() for row number `row` of the result. Requires canStoreRows().
  void storeRow(mlir::Value value, mlir::Value row, mlir::Value column, int64_t lanes);
  /// Emits `body`, the code of a contraction emitter's sink, at the position of that emitter's builder.
  void inSink(mlir::OpBuilder &sink, llvm::function_ref<void()> body);
  /// The style for contraction emitters, by the length of the epilogue.
  emit::SinkStyle sinkStyle() const;
  /// Whether the kernel stores a function of the anchor's value and not that value.
  bool hasEpilogue() const;
  /// Whether store() accepts vectors.
  bool canStoreVectors();
  /// The memory of a result that the anchor may read back; null if an epilogue changes the stored value.
  mlir::Value resultPointer(unsigned result);

  //===--- Loops -----------------------------------------------------------===//

  /// The work of a kernel that has a single parallel loop, by CostOpInterface.
  Work work(Rate rate) const;
  /// The work of a loop that only reads an operand of `member`, including its computation if it is an expression.
  Work workBeside(mlir::Operation *member, Count bytes) const;
  /// A parallel loop over [0, extent), whose whole work is `work`. `body` emits the code for [begin, end) (index
  /// values) and must not use values emitted outside. Chunks begin at multiples of `multiple`. A grid has one thread
  /// per item. `work` is the work at the upper bounds of symbols, and the length of chunks is the same at all points.
  void parallel(const Extent &extent, const Work &work,
                llvm::function_ref<void(mlir::Value begin, mlir::Value end)> body, int64_t multiple = 1);
  void parallel(int64_t extent, const Work &work, llvm::function_ref<void(mlir::Value begin, mlir::Value end)> body,
                int64_t multiple = 1) {
    parallel(Extent(extent), work, body, multiple);
  }
  /// A parallel loop over `rows` x `columns` positions: `body(row, from, to)` emits the code for columns [from, to) of
  /// one row. Chunks consist of whole rows. A grid has one thread per position.
  void parallelNest(const Extent &rows, const Extent &columns, const Work &work,
                    llvm::function_ref<void(mlir::Value row, mlir::Value from, mlir::Value to)> body);
  /// The same for the rows of an array of extents `outer`: `body` gets the indices of a row.
  void parallelNest(const ExtentList &outer, const Extent &columns, const Work &work,
                    llvm::function_ref<void(llvm::ArrayRef<mlir::Value> row, mlir::Value from, mlir::Value to)> body);
  /// A parallel loop whose items each fold and walk rows of `length` elements with RowReducer. In a grid, a team of
  /// threads shares an item.
  void parallelRows(const Extent &extent, const Extent &length, const Work &work,
                    llvm::function_ref<void(mlir::Value begin, mlir::Value end)> body);
  /// A loop over the parts that share items with a chunk [begin, end). Each part has `length` consecutive items:
  /// `body(part, from, to)` emits the code for items [from, to) of a part.
  void loopParts(mlir::Value begin, mlir::Value end, const Extent &length,
                 llvm::function_ref<void(mlir::Value part, mlir::Value from, mlir::Value to)> body);
  /// A loop over items [begin, end) of an array of `extents`: `body` gets the indices of each item.
  void loopItems(mlir::Value begin, mlir::Value end, const ExtentList &extents,
                 llvm::function_ref<void(llvm::ArrayRef<mlir::Value> indices)> body);
  /// An scf.for from `lower` to `upper`.
  void loop(mlir::Value lower, mlir::Value upper, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  void loop(const Extent &lower, const Extent &upper, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  /// A loop that carries values, and returns those of the last iteration.
  llvm::SmallVector<mlir::Value>
  reduce(mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange initial,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  /// A perfect loop nest over `extents`. `body` gets one index per dimension.
  void nest(const ExtentList &extents, llvm::function_ref<void(mlir::ValueRange)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  /// An scf.if that yields the chosen branch's value.
  mlir::Value choose(mlir::Value condition, llvm::function_ref<mlir::Value()> onTrue,
                     llvm::function_ref<mlir::Value()> onFalse);

  //===--- Grids -----------------------------------------------------------===//

  /// A grid of `blocks` blocks of `threads` threads (a multiple of a warp, at most 1024). `body` emits the code of one
  /// thread and must not use values emitted outside. Nothing runs if a step has 0 blocks.
  void grid(const Extent &blocks, int64_t threads, llvm::function_ref<void()> body);
  mlir::Value threadIndex(); ///< The thread's index in its block, of index type.
  mlir::Value blockIndex();
  /// Shared memory of the block: `count` elements of a compute type, aligned to 32 bytes.
  mlir::Value sharedBuffer(mlir::Type type, int64_t count);
  /// Emits the code of architectures from `least` (80 for sm_80) on, and that of older ones.
  void forArchitecture(unsigned least, llvm::function_ref<void()> newer, llvm::function_ref<void()> older);
  /// All threads of a block must reach the barrier.
  void barrier();
  /// The number of threads that share the current item: 1, except in parallelRows() of a grid.
  int64_t teamThreads() const { return team; }
  mlir::Value teamPosition() { return position; }
  /// Joins the values of a team's threads. All threads must reach this code, and all get the result.
  mlir::Value joinTeam(mlir::Value value, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join);
  /// Emits code that one thread of a team runs for all.
  void once(llvm::function_ref<void()> body);

  /// Services of the runtime for kernels, each a function of sluice_kernel_env.
  enum class Service : uint8_t { Strings, Ranks, Libraries };
  /// Makes the kernel a call of function number `function` of the service, with the addresses of operands, results and
  /// workspace (null if there is none) and with `settings`, in the form of abi.h. The kernel returns the function's
  /// status.
  void callRuntime(Service service, uint32_t function, llvm::ArrayRef<char> settings);

  //===--- Programs of kernels ---------------------------------------------===//

  /// The builder of the code that runs once, between the loops of parallel().
  mlir::OpBuilder &entry() { return entryBuilder; }
  mlir::Value environment();
  /// Emits by entry() a value that is true if the caller wants the step to stop.
  mlir::Value isStopped();
  /// Emits by entry() the address of an argument. Operands are numbered first, then results, then the workspace.
  mlir::Value entryPointer(unsigned argument);
  /// Emits by entry() an extent as an i64, at a place that dominates the whole entry.
  mlir::Value entryExtent(const Extent &extent);
  /// Emits by entry() a store of an i64 to a symbol's value. Extents in the entry keep their old values; later parallel
  /// loops have the new ones.
  void setSymbol(uint64_t symbol, mlir::Value value);
  /// Emits another operator's kernel beside this one and returns its symbol. If that operator has no kernel, emit()
  /// fails.
  std::string emitMember(mlir::Operation *member, llvm::ArrayRef<unsigned> slots);
  /// Emits by entry() a parallel loop over [0, extent) with one item per chunk. `body` emits the code of one item (an
  /// i64) in a function that gets the address `args`.
  void forEachAtOnce(int64_t extent, mlir::Value args,
                     llvm::function_ref<void(mlir::OpBuilder &, mlir::Value args, mlir::Value item)> body);
  /// Makes the kernel return `code`, a status of abi.h.
  void returns(mlir::Value code) { status = code; }

  //===--- Values ----------------------------------------------------------===//

  mlir::Value index(int64_t value);
  /// The extent as a constant, or as the value that the entry of the emitted function computes.
  mlir::Value index(const Extent &extent);
  /// The same, but 1 if the extent is 0, because the code of loops without iterations may still divide by extents.
  mlir::Value divisor(const Extent &extent);
  /// A constant of a compute type, scalar or vector.
  mlir::Value constant(mlir::Type type, double value);
  /// An extent as a number of a compute type, scalar or vector.
  mlir::Value number(mlir::Type type, const Extent &extent);
  mlir::Value add(mlir::Value a, mlir::Value c); ///< index + index
  mlir::Value mul(mlir::Value a, int64_t c);     ///< index * constant
  mlir::Value mul(mlir::Value a, const Extent &c);
  /// The window whose tap number `tap` covers `element`, and whether there is one: the number o such that o * stride -
  /// padLow + tap * dilation = element and 0 <= o < windows.
  struct CoveringWindow {
    mlir::Value position, exists;
  };
  CoveringWindow windowOver(mlir::Value element, mlir::Value tap, int64_t stride, int64_t padLow, int64_t dilation,
                            const Extent &windows);
  /// The taps [low, high) of a window that read positions 0 .. extent-1. The window has `taps` taps, `dilation` apart,
  /// from `start` on. A loop over them is at most as long as the image, even if the window is larger.
  struct TapRange {
    mlir::Value low, high;
  };
  TapRange tapsInside(mlir::Value start, const Extent &extent, int64_t taps, int64_t dilation);
  /// The number of taps before position `limit`.
  mlir::Value tapsBefore(mlir::Value start, const Extent &limit, int64_t taps, int64_t dilation);
  /// The row-major digits of `linear` in base `extents`. If a step gives extents, linearize() of these digits returns
  /// `linear`, so that divisions remain only for digits that are used separately.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear, const ExtentList &extents);
  mlir::Value linearize(mlir::ValueRange indices, const ExtentList &extents);
  /// The indices in an array of extents `to` of the element at `indices` in an array of extents `from`, which has the
  /// same number of elements. Dimensions that are the same in both keep their index.
  llvm::SmallVector<mlir::Value> reshape(mlir::ValueRange indices, const ExtentList &from, const ExtentList &to);
  /// The address of element `linear` of an array of `elementType`.
  mlir::Value address(mlir::Value base, mlir::Type elementType, mlir::Value linear);
  /// Loads `lanes` elements as their compute type; store() converts from it.
  mlir::Value load(mlir::Value base, mlir::Type elementType, mlir::Value linear, int64_t lanes = 1);
  void store(mlir::Value base, mlir::Type elementType, mlir::Value linear, mlir::Value value);
  /// Scratch memory on the stack of the current chunk: `count` elements.
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

  /// The values of extents in a function: its entry computes each of them once, or a grid's function has them as
  /// arguments.
  struct ExtentValues {
    mlir::Operation *last = nullptr;        ///< The operation after which they are computed.
    llvm::SmallVector<mlir::Value> symbols; ///< The symbols' values; empty in a grid.
    llvm::DenseMap<mlir::AffineExpr, mlir::Value> values, divisors;
  };
  /// Loads the symbols' values at the position of `builder`.
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
  /// Keeps a split for linearize() if a step gives one of the extents.
  void noteSplit(mlir::Value linear, llvm::ArrayRef<mlir::Value> digits, llvm::ArrayRef<Extent> extents);
  /// The split that indices [0, last] of an array of `extents` end with; null if none.
  const Split *splitEndingAt(size_t last, mlir::ValueRange indices, llvm::ArrayRef<Extent> extents) const;
  /// The parts of `length` items that share items with a chunk [begin, end): the first, and the one after the last.
  std::pair<mlir::Value, mlir::Value> partsOf(mlir::Value begin, mlir::Value end, const Extent &length);
  /// The items of such a part in the chunk, counted from the part's first item.
  std::pair<mlir::Value, mlir::Value> itemsOfPart(mlir::Value part, mlir::Value begin, mlir::Value end,
                                                  const Extent &length);
  /// The address that chunk functions get: that of the kernel's arguments, or, if there are symbols, that of a pair of
  /// the arguments' and the symbols' addresses.
  mlir::Value chunkArguments();
  static constexpr int32_t kContextSymbols = 1;

  KernelEmitter(mlir::Operation *op, const VectorTarget &target, const KernelStyle &style, mlir::ModuleOp module,
                llvm::StringRef symbol);
  void emitBody();
  /// Makes the kernel call a library, if the device has it, and then a grid for the rest of the epilogue, without what
  /// the library adds itself; without the library, the kernel launches its own grids. Returns false and emits nothing
  /// if an operand is an expression, or if the result has no room for the values that the epilogue reads.
  bool emitLibraryCall(const LibraryCall &call);
  /// Emits the call of a descriptor's grid.
  void launchGrid(llvm::StringRef descriptor, const Extent &blocks);
  /// The arguments of a grid: those of the kernel, and then the values of extents, if there are any.
  mlir::Value gridArguments();
  /// The settings that a service gets.
  struct Settings {
    mlir::Value address;
    int64_t bytes;
  };
  /// Puts settings into a constant of the module.
  Settings constantSettings(llvm::ArrayRef<char> bytes);
  /// The settings of a library's call: each an int64_t.
  Settings callSettings(llvm::ArrayRef<Extent> numbers);
  /// Calls a service with the addresses of the numbered arguments (operands, results, workspace) and returns its
  /// status.
  mlir::Value requestService(Service service, mlir::Value function, const Settings &settings,
                             llvm::ArrayRef<int64_t> arguments);
  void callParallelFor(mlir::func::FuncOp chunk, const Extent &extent, int64_t grain, mlir::Value args);
  /// The work of the loops over `elements` elements of a result.
  Work loopWork(unsigned result, Count elements, int64_t lanes) const;
  /// Emits the loops of a group without an anchor.
  void emitLoops(unsigned result, mlir::Value value);
  void emitGridLoops(unsigned result, mlir::Value value);
  /// The transposition of which an expression is an element-wise function, if tiles make it faster; else null.
  TransposeOp tiledTranspose(mlir::Value root);
  void emitGridTranspose(unsigned result, mlir::Value value, TransposeOp transpose);
  void emitChunkTranspose(unsigned result, mlir::Value value, TransposeOp transpose);
  mlir::Value shuffle(mlir::Value value, int64_t distance);
  mlir::Value compute(mlir::Value tensor, mlir::ValueRange indices, int64_t lanes);
  /// Collapses the epilogue to rows and columns. Returns false if that leaves more or fewer than two dimensions.
  bool collapseRows();

  mlir::Operation *kernelOp;
  VectorTarget vectorTarget;
  KernelStyle style;
  mlir::ModuleOp module;
  std::string symbol;
  bool readsExpression = false; ///< Whether a loop asked for the memory of a value that a member of the group computes.
  mlir::OpBuilder b;
  mlir::Location location;

  mlir::func::FuncOp kernel;           ///< The entry; `parallel` appends calls to it.
  mlir::OpBuilder entryBuilder;        ///< Inserts at the entry's end.
  mlir::Value status;                  ///< The status that the kernel returns; null for 0.
  mlir::FunctionOpInterface chunkBody; ///< The region being emitted.
  mlir::Value wholeBegin, wholeEnd;    ///< The bounds of that region if one chunk has all items; else null.
  unsigned numChunks = 0, numMembers = 0;
  bool hasFailedMember = false;
  int64_t team = 1;                              ///< Threads of a team of the emitted grid.
  mlir::Value position;                          ///< The thread's position in its team.
  int64_t sharedBytes = 0;                       ///< Shared memory of the emitted grid.
  llvm::SmallVector<mlir::AffineExpr> gridWords; ///< Extents whose values that grid gets.
  std::optional<int64_t> mostOwnBlocks;          ///< The most blocks of that grid, if a step gives their number.
  int64_t mostBlocks = 0, mostWords = 0;         ///< The most blocks and arguments of all grids.
  mlir::Operation *absorbed = nullptr;           ///< An addition that the library performs; null if none.
  mlir::Value absorbedSum;                       ///< The value that it adds to.
  int64_t accessLanes = 1;                       ///< Vectors of this many elements are aligned to their size.

  /// The kernel's argument number of each operand (or of the group's block arguments).
  llvm::DenseMap<mlir::Value, unsigned> argumentIndex;
  llvm::SmallVector<mlir::Value> pointers; ///< The addresses of arguments in the region being emitted.
  llvm::SmallVector<mlir::Type> argumentElement;
  unsigned numOperands = 0;
  /// The positions of operands, results and workspace in the kernel's arguments.
  llvm::SmallVector<unsigned> argumentSlots;
  llvm::SmallVector<mlir::Value> yielded; ///< The value that result i stores.
  mlir::Operation *anchor = nullptr;
  llvm::DenseMap<mlir::Value, Bound> bound;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Memo>> memo;
  llvm::DenseMap<mlir::Value, Extents> collapsed;
  llvm::DenseMap<mlir::Value, Split> splits; ///< The splits in the region being emitted, by their last digits.
  SymbolsAttr symbols;                       ///< The symbols that the kernel depends on; null if there are none.
  ExtentValues entryExtents, bodyExtents;    ///< Those of the entry, and of the region being emitted.
  mlir::Value symbolsAddress, chunkContext;  ///< Values of the entry.
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_KERNELEMITTER_H
