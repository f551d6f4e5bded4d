//===- Subject.cpp - The model to shrink, and parts of it -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Subject.h"
#include "sluice/Onnx/ModelFile.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <new>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <sys/resource.h>
#include <unistd.h>

namespace sluice::reduce {
namespace {

using Names = std::unordered_set<std::string>;

//===----------------------------------------------------------------------===//
// Data inside the model
//===----------------------------------------------------------------------===//

/// A model's messages in step with their copies, down to the tensors.
class DataMover {
public:
  explicit DataMover(const ModelFile &file) : file(file) {}

  Status move(const google::protobuf::Message &from, google::protobuf::Message &to) {
    if (from.GetDescriptor() == ::onnx::TensorProto::descriptor())
      return moveTensor(static_cast<const ::onnx::TensorProto &>(from), static_cast<::onnx::TensorProto &>(to));
    const google::protobuf::Reflection *reflection = from.GetReflection();
    std::vector<const google::protobuf::FieldDescriptor *> fields;
    reflection->ListFields(from, &fields);
    for (const google::protobuf::FieldDescriptor *field : fields) {
      if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE)
        continue;
      const int count = field->is_repeated() ? reflection->FieldSize(from, field) : 1;
      for (int i = 0; i < count; ++i) {
        Status status = field->is_repeated()
                            ? move(reflection->GetRepeatedMessage(from, field, i),
                                   *reflection->MutableRepeatedMessage(&to, field, i))
                            : move(reflection->GetMessage(from, field), *reflection->MutableMessage(&to, field));
        if (!status)
          return status;
      }
    }
    return {};
  }

private:
  Status moveTensor(const ::onnx::TensorProto &from, ::onnx::TensorProto &to) {
    const bool external = from.data_location() == ::onnx::TensorProto::EXTERNAL;
    if (from.data_type() == onnxtype::String || !(external || from.has_raw_data()))
      return {};
    SLUICE_ASSIGN_OR_RETURN(TensorData data, file.tensor(from));
    bytes = saturatingAdd(bytes, static_cast<int64_t>(data.bytes.size()));
    if (bytes > INT_MAX)
      return makeError(ErrorCode::Unsupported, "model '", file.path(), "' has more than 2 GiB of data",
                       ", which protobuf cannot write, cut the model before you shrink it");
    to.set_raw_data(data.bytes.data(), data.bytes.size());
    to.clear_external_data();
    to.clear_data_location();
    return {};
  }

  const ModelFile &file;
  int64_t bytes = 0;
};

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

template <typename Visit>
void forEachSubgraph(const ::onnx::NodeProto &node, Visit visit) {
  for (const ::onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      visit(attribute.g());
    for (const ::onnx::GraphProto &graph : attribute.graphs())
      visit(graph);
  }
}

std::vector<std::string> readsOf(const ::onnx::NodeProto &node) {
  std::vector<std::string_view> names;
  collectReads(node, names);
  names.erase(std::remove(names.begin(), names.end(), ""), names.end());
  return {names.begin(), names.end()};
}

using Aliases = std::map<std::string, std::string>;

/// Aliases lead upstream, so they end.
const std::string &resolve(const std::string &name, const Aliases &aliases) {
  const std::string *current = &name;
  for (auto found = aliases.find(name); found != aliases.end(); found = aliases.find(*current))
    current = &found->second;
  return *current;
}

/// Names of an outer graph are unique in its subgraphs too.
void renameReads(::onnx::NodeProto &node, const Aliases &aliases) {
  for (std::string &input : *node.mutable_input())
    input = resolve(input, aliases);
  auto rename = [&](::onnx::GraphProto &graph) {
    for (::onnx::NodeProto &inner : *graph.mutable_node())
      renameReads(inner, aliases);
    for (::onnx::ValueInfoProto &output : *graph.mutable_output())
      output.set_name(resolve(output.name(), aliases));
  };
  for (::onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g())
      rename(*attribute.mutable_g());
    for (::onnx::GraphProto &graph : *attribute.mutable_graphs())
      rename(graph);
  }
}

using FunctionName = std::pair<std::string, std::string>;

void collectCalls(const ::onnx::NodeProto &node, std::set<FunctionName> &calls) {
  calls.insert({node.domain(), node.op_type()});
  forEachSubgraph(node, [&](const ::onnx::GraphProto &graph) {
    for (const ::onnx::NodeProto &inner : graph.node())
      collectCalls(inner, calls);
  });
}

void dropUncalledFunctions(::onnx::ModelProto &model) {
  std::set<FunctionName> calls;
  for (const ::onnx::NodeProto &node : model.graph().node())
    collectCalls(node, calls);
  for (const ::onnx::FunctionProto &function : model.functions())
    for (const ::onnx::NodeProto &node : function.node())
      collectCalls(node, calls);
  auto *functions = model.mutable_functions();
  functions->erase(std::remove_if(functions->begin(), functions->end(),
                                  [&](const ::onnx::FunctionProto &function) {
                                    return !calls.count({function.domain(), function.name()});
                                  }),
                   functions->end());
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool isKnown(const ::onnx::TypeProto &type) {
  return type.value_case() != ::onnx::TypeProto::VALUE_NOT_SET &&
         !(type.has_tensor_type() && type.tensor_type().elem_type() == 0);
}

/// An input without a shape is not one that a model can be run with.
bool fitsInput(const ::onnx::TypeProto &type) { return !type.has_tensor_type() || type.tensor_type().has_shape(); }

::onnx::TypeProto typeOfData(const ::onnx::TensorProto &tensor) {
  ::onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(tensor.data_type());
  ::onnx::TensorShapeProto *shape = type.mutable_tensor_type()->mutable_shape();
  for (int64_t dim : tensor.dims())
    shape->add_dim()->set_dim_value(dim);
  return type;
}

/// Without a type where none is known: of results of operators that ONNX does not know.
::onnx::ValueInfoProto valueInfo(const std::string &name, const ::onnx::TypeProto *type) {
  ::onnx::ValueInfoProto info;
  info.set_name(name);
  if (type)
    *info.mutable_type() = *type;
  return info;
}

std::set<Option> optionsOf(const ::onnx::NodeProto &node, int index, int version) {
  std::set<Option> found;
  const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  const ::onnx::OpSchema *schema = ::onnx::OpSchemaRegistry::Schema(node.op_type(), version, domain);
  for (int i = 0; i < node.attribute_size(); ++i) {
    if (!schema)
      found.insert({index, Option::Kind::Attribute, i});
    else if (auto known = schema->attributes().find(node.attribute(i).name());
             known != schema->attributes().end() && !known->second.required)
      found.insert({index, Option::Kind::Attribute, i});
  }
  if (schema)
    for (int i = 0; i < std::min<int>(node.input_size(), static_cast<int>(schema->inputs().size())); ++i)
      if (!node.input(i).empty() && schema->inputs()[i].GetOption() == ::onnx::OpSchema::Optional)
        found.insert({index, Option::Kind::Input, i});
  return found;
}

} // namespace

//===----------------------------------------------------------------------===//
// Subject
//===----------------------------------------------------------------------===//

Expected<Subject> Subject::open(const std::string &path, const TemporaryDirectory &scratch, int64_t timeoutNs) {
  SLUICE_ASSIGN_OR_RETURN(ModelFile file, ModelFile::open(path));
  SLUICE_RETURN_IF_ERROR(file.requireData());
  Subject subject(file.proto());
  SLUICE_RETURN_IF_ERROR(DataMover(file).move(file.proto(), subject.whole));
  if (subject.whole.ByteSizeLong() > INT_MAX)
    return makeError(ErrorCode::Unsupported, "model '", path, "' takes more than 2 GiB with its data",
                     ", which protobuf cannot write, cut the model before you shrink it");
  SLUICE_RETURN_IF_ERROR(subject.inferTypes(scratch, timeoutNs));
  subject.index();
  return subject;
}

namespace {

/// Exit codes of the child that infers types.
enum Inference : int { kInferred = 0, kNoAnswer = 3, kNoMemory, kNotWritten };

rlimit memoryLimit;
bool lacksMemory = false;

/// Is called where operator new is refused memory, and returns for another try: a lack that passes is no property of
/// the model. One that lasts is, if there is memory beyond the limit that limitMemory has set.
void onRefusedMemory() {
  constexpr size_t kProbe = size_t(1) << 20;
  static int tries = 8;
  if (tries-- > 0)
    return;
  setrlimit(RLIMIT_AS, &memoryLimit);
  void *probe = std::malloc(kProbe);
  lacksMemory |= !probe;
  std::free(probe);
  throw std::bad_alloc();
}

/// Lets this process take so many bytes more: sanitizers hold terabytes of addresses already.
void limitMemory(int64_t bytes) {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto most = static_cast<rlim_t>(saturatingAdd(bytes, saturatingMul(pages, sysconf(_SC_PAGESIZE))));
  getrlimit(RLIMIT_AS, &memoryLimit);
  const rlimit limit = {std::min(most, memoryLimit.rlim_cur), memoryLimit.rlim_max};
  setrlimit(RLIMIT_AS, &limit);
  std::set_new_handler(onRefusedMemory);
}

} // namespace

/// The ONNX library's inference may crash or hang on what it did not expect, so a child runs it; without its answer
/// the declared types have to do.
Status Subject::inferTypes(const TemporaryDirectory &scratch, int64_t timeoutNs) {
  const std::string path = scratch.file("types.onnx");
  auto infer = [&]() -> int {
    // A crash is no answer, and no error of this program.
    std::set_terminate(std::abort);
    std::signal(SIGSEGV, SIG_DFL);
    limitMemory(int64_t(8) << 30);
    int end = kNoAnswer;
    try {
      ::onnx::ShapeInferenceOptions inference;
      inference.enable_data_propagation = true;
      ::onnx::shape_inference::InferShapes(whole, ::onnx::OpSchemaRegistry::Instance(), inference);
      ::onnx::ModelProto answer;
      *answer.mutable_graph()->mutable_input() = whole.graph().input();
      *answer.mutable_graph()->mutable_output() = whole.graph().output();
      *answer.mutable_graph()->mutable_value_info() = whole.graph().value_info();
      end = writeFileAtomically(path, answer.SerializeAsString()) ? kInferred : kNotWritten;
    } catch (const std::exception &) {
    }
    return lacksMemory ? kNoMemory : end;
  };
  ::onnx::ModelProto answer;
  SLUICE_ASSIGN_OR_RETURN(const ChildResult result, runForked(infer, timeoutNs));
  if (result.success()) {
    SLUICE_ASSIGN_OR_RETURN(const std::string bytes, readFile(path));
    if (!answer.ParseFromString(bytes))
      answer.Clear();
  } else if (result.end == ChildResult::End::Exited && result.code == kNoMemory) {
    return makeError(ErrorCode::Io, "out of memory, while the types of tensors are inferred, free memory");
  } else if (result.end == ChildResult::End::Exited && result.code == kNotWritten) {
    return makeError(ErrorCode::Io, "cannot write the types of tensors, '", path, "', set TMPDIR to a disk with room");
  }
  for (const ::onnx::GraphProto *graph : {&answer.graph(), &whole.graph()})
    for (const auto *list : {&graph->input(), &graph->output(), &graph->value_info()})
      for (const ::onnx::ValueInfoProto &info : *list)
        if (isKnown(info.type()))
          types.emplace(info.name(), info.type());
  for (const ::onnx::TensorProto &initializer : whole.graph().initializer())
    types.emplace(initializer.name(), typeOfData(initializer));
  return {};
}

void Subject::index() {
  std::map<std::string, int> versions;
  for (const ::onnx::OperatorSetIdProto &import : whole.opset_import())
    versions[import.domain() == "ai.onnx" ? "" : import.domain()] =
        static_cast<int>(std::clamp<int64_t>(import.version(), 0, INT_MAX));
  Names used;
  for (const ::onnx::ValueInfoProto &output : graph().output())
    used.insert(output.name());
  for (int i = 0; i < graph().node_size(); ++i) {
    const ::onnx::NodeProto &node = graph().node(i);
    options.merge(optionsOf(node, i, versions[node.domain() == "ai.onnx" ? "" : node.domain()]));
    for (std::string &name : readsOf(node))
      used.insert(std::move(name));
  }
  for (int i = 0; i < graph().node_size(); ++i)
    if (std::none_of(graph().node(i).output().begin(), graph().node(i).output().end(),
                     [&](const std::string &name) { return used.count(name); }))
      dead.insert(i);
}

Candidate Subject::everything() const {
  Candidate all;
  Names read;
  for (int i = 0; i < graph().node_size(); ++i) {
    all.nodes.push_back(i);
    for (std::string &name : readsOf(graph().node(i)))
      read.insert(std::move(name));
  }
  for (const ::onnx::ValueInfoProto &output : graph().output()) {
    all.outputs.push_back(output.name());
    read.insert(output.name());
  }
  auto spare = [&](const std::string &name) {
    if (read.insert(name).second)
      all.spares.push_back(name);
  };
  for (const ::onnx::ValueInfoProto &input : graph().input())
    spare(input.name());
  for (const ::onnx::SparseTensorProto &initializer : graph().sparse_initializer())
    spare(initializer.values().name());
  for (const ::onnx::TensorProto &initializer : graph().initializer()) {
    spare(initializer.name());
    all.constants.push_back(initializer.name());
  }
  all.options.assign(options.begin(), options.end());
  return all;
}

const ::onnx::TypeProto *Subject::typeOf(const std::string &name) const {
  auto found = types.find(name);
  return found == types.end() ? nullptr : &found->second;
}

Subject::Match Subject::compareTypes(const std::string &a, const std::string &b) const {
  const ::onnx::TypeProto *first = typeOf(a), *second = typeOf(b);
  if (!first || !second)
    return Match::Unknown;
  const bool known = fitsInput(*first) && fitsInput(*second);
  auto plain = [&](::onnx::TypeProto type) {
    type.clear_denotation();
    if (!known && type.has_tensor_type())
      type.mutable_tensor_type()->clear_shape();
    return type.SerializeAsString();
  };
  if (plain(*first) != plain(*second))
    return Match::No;
  return known ? Match::Yes : Match::Unknown;
}

::onnx::NodeProto Subject::rewritten(int index, const Candidate &candidate, const std::set<Option> &kept) const {
  ::onnx::NodeProto node = graph().node(index);
  if (!candidate.notes)
    node.clear_doc_string();
  auto dropped = [&](Option::Kind kind, int i) {
    const Option option{index, kind, i};
    return options.count(option) && !kept.count(option);
  };
  for (int i = node.attribute_size(); i-- > 0;)
    if (dropped(Option::Kind::Attribute, i))
      node.mutable_attribute()->DeleteSubrange(i, 1);
  for (int i = 0; i < node.input_size(); ++i)
    if (dropped(Option::Kind::Input, i))
      node.mutable_input(i)->clear();
  while (node.input_size() > 0 && node.input(node.input_size() - 1).empty())
    node.mutable_input()->RemoveLast();
  renameReads(node, candidate.aliases);
  return node;
}

std::vector<int> Subject::needed(const Candidate &candidate) const {
  const std::set<Option> kept(candidate.options.begin(), candidate.options.end());
  std::unordered_map<std::string, int> producers;
  for (int i : candidate.nodes)
    for (const std::string &output : graph().node(i).output())
      producers.emplace(output, i);
  std::set<int> found;
  std::vector<std::string> open = candidate.outputs;
  while (!open.empty()) {
    auto producer = producers.find(open.back());
    open.pop_back();
    if (producer != producers.end() && found.insert(producer->second).second)
      for (std::string &name : readsOf(rewritten(producer->second, candidate, kept)))
        open.push_back(std::move(name));
  }
  return {found.begin(), found.end()};
}

namespace {

/// The values that a candidate's nodes write and read.
struct Values {
  Names produced;
  std::vector<std::string> reads; ///< In the nodes' order.
};

} // namespace

/// The model's outputs that still exist, and one of each node that lost its readers.
static std::vector<std::string> outputsOf(const Candidate &candidate, const ::onnx::GraphProto &graph,
                                          const Values &values, const std::set<int> &dead,
                                          const std::function<bool(const std::string &)> &isTyped) {
  Names given;
  for (const ::onnx::ValueInfoProto &input : graph.input())
    given.insert(input.name());
  for (const ::onnx::TensorProto &initializer : graph.initializer())
    given.insert(initializer.name());
  for (const ::onnx::SparseTensorProto &initializer : graph.sparse_initializer())
    given.insert(initializer.values().name());
  std::vector<std::string> outputs;
  for (const std::string &name : candidate.outputs)
    if (values.produced.count(name) || given.count(name))
      outputs.push_back(name);
  Names used(values.reads.begin(), values.reads.end());
  used.insert(outputs.begin(), outputs.end());
  auto isNamed = [](const std::string &name) { return !name.empty(); };
  for (int i : candidate.nodes) {
    const auto &names = graph.node(i).output();
    if (dead.count(i) || std::any_of(names.begin(), names.end(), [&](const auto &name) { return used.count(name); }))
      continue;
    auto typed = std::find_if(names.begin(), names.end(), isTyped);
    outputs.push_back(typed != names.end() ? *typed : *std::find_if(names.begin(), names.end(), isNamed));
  }
  return outputs;
}

void Subject::declareOutputs(const std::vector<std::string> &outputs, bool hasGuessedShapes,
                             ::onnx::GraphProto &result) const {
  for (const std::string &name : outputs) {
    auto declared = std::find_if(graph().output().begin(), graph().output().end(),
                                 [&](const ::onnx::ValueInfoProto &output) { return output.name() == name; });
    if (declared != graph().output().end())
      *result.add_output() = *declared;
    else
      *result.add_output() = valueInfo(name, typeOf(name));
  }
  if (hasGuessedShapes)
    for (::onnx::ValueInfoProto &output : *result.mutable_output())
      if (output.type().has_tensor_type())
        output.mutable_type()->mutable_tensor_type()->clear_shape();
}

bool Subject::declareInputs(const Candidate &candidate, const std::vector<std::string> &wanted, Names defined,
                            ::onnx::GraphProto &result) const {
  const Names constants(candidate.constants.begin(), candidate.constants.end());
  Names kept(wanted.begin(), wanted.end());
  kept.insert(candidate.spares.begin(), candidate.spares.end());
  for (const ::onnx::TensorProto &initializer : graph().initializer())
    if (kept.count(initializer.name()) && constants.count(initializer.name())) {
      *result.add_initializer() = initializer;
      defined.insert(initializer.name());
    }
  for (const ::onnx::SparseTensorProto &initializer : graph().sparse_initializer())
    if (kept.count(initializer.values().name())) {
      *result.add_sparse_initializer() = initializer;
      defined.insert(initializer.values().name());
    }
  for (const ::onnx::ValueInfoProto &input : graph().input())
    if (kept.count(input.name())) {
      *result.add_input() = input;
      defined.insert(input.name());
    }
  for (const std::string &name : wanted) {
    if (!defined.insert(name).second)
      continue;
    const ::onnx::TypeProto *type = typeOf(name);
    if (!type || !fitsInput(*type))
      return false;
    *result.add_input() = valueInfo(name, type);
  }
  return true;
}

void Subject::copyNotes(const Names &produced, bool hasGuessedShapes, ::onnx::ModelProto &model) const {
  model.set_producer_name(whole.producer_name());
  model.set_producer_version(whole.producer_version());
  model.set_domain(whole.domain());
  model.set_model_version(whole.model_version());
  model.set_doc_string(whole.doc_string());
  *model.mutable_metadata_props() = whole.metadata_props();
  model.mutable_graph()->set_doc_string(graph().doc_string());
  for (const ::onnx::ValueInfoProto &info : graph().value_info())
    if (produced.count(info.name()) && !hasGuessedShapes)
      *model.mutable_graph()->add_value_info() = info;
}

std::optional<::onnx::ModelProto> Subject::build(const Candidate &candidate) const {
  const std::set<Option> kept(candidate.options.begin(), candidate.options.end());
  ::onnx::ModelProto model;
  model.set_ir_version(whole.ir_version());
  *model.mutable_opset_import() = whole.opset_import();
  *model.mutable_functions() = whole.functions();
  ::onnx::GraphProto *result = model.mutable_graph();
  result->set_name(graph().name());
  Values values;
  for (int i : candidate.nodes) {
    ::onnx::NodeProto *node = result->add_node();
    *node = rewritten(i, candidate, kept);
    values.produced.insert(node->output().begin(), node->output().end());
    for (std::string &name : readsOf(*node))
      values.reads.push_back(std::move(name));
  }
  const std::vector<std::string> outputs =
      outputsOf(candidate, graph(), values, dead, [&](const std::string &name) { return typeOf(name) != nullptr; });
  if (outputs.empty())
    return std::nullopt;
  declareOutputs(outputs, candidate.guessed, *result);
  std::vector<std::string> wanted = values.reads;
  wanted.insert(wanted.end(), outputs.begin(), outputs.end());
  if (!declareInputs(candidate, wanted, values.produced, *result))
    return std::nullopt;
  if (candidate.notes)
    copyNotes(values.produced, candidate.guessed, model);
  else
    dropUncalledFunctions(model);
  return model;
}

} // namespace sluice::reduce
