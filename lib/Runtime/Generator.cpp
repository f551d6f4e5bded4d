//===- Generator.cpp - Text from a model of its next token ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Generator.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace sluice::runtime {

namespace {

constexpr int32_t kFloatType = 1;

bool isInteger(const sluice_tensor_desc &tensor) {
  return tensor.element_type == kInt64Type || tensor.element_type == kInt32Type;
}

void putInteger(const sluice_tensor_desc &tensor, char *to, int64_t index, int64_t value) {
  if (tensor.element_type == kInt64Type)
    std::memcpy(to + index * 8, &value, 8);
  else if (const auto narrow = static_cast<int32_t>(value); true)
    std::memcpy(to + index * 4, &narrow, 4);
}

} // namespace

Result<Generator> Generator::create(Executor &executor, const void *const *inputs, const sluice_sampling *sampling) {
  Result<Sampler> sampler = Sampler::create(sampling);
  if (!sampler)
    return tl::unexpected(sampler.error());
  Generator generator(executor, std::move(*sampler));
  Status status = executor.reset();
  if (status)
    status = generator.takeInputs(inputs);
  if (status)
    status = generator.findLogits();
  if (status)
    status = generator.describeSequence();
  if (!status)
    return tl::unexpected(status.error());
  return generator;
}

std::vector<int64_t> Generator::shapeOf(uint32_t port, size_t index) const {
  const auto &tensors = port == SLUICE_PORT_INPUT ? executor.described().inputs : executor.described().outputs;
  std::vector<int64_t> shape(tensors[index].rank);
  (void)executor.shapes().get(port, static_cast<uint32_t>(index), shape.data(), nullptr);
  return shape;
}

/// By the names that exporters give. An input that is compiled in has its value in the model.
Status Generator::takeInputs(const void *const *given) {
  const std::vector<sluice_tensor_desc> &inputs = executor.described().inputs;
  auto roleOf = [](std::string_view name) {
    if (name == "input_ids" || name == "tokens")
      return Role::Tokens;
    if (name == "attention_mask")
      return Role::Mask;
    return name == "position_ids" ? Role::Positions : Role::Given;
  };
  bool hasTokens = false;
  std::string names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const sluice_tensor_desc &input = inputs[i];
    const void *data = given && given[i] ? given[i] : input.fixed;
    names += (i ? ", '" : "'") + std::string(input.name) + "'";
    roles.push_back(data ? Role::Given : roleOf(input.name));
    pointers.push_back(data);
    made.emplace_back();
    if (roles[i] == Role::Given) {
      if (!data)
        return failure("input '", input.name, "' has no data, give the address of its ",
                       executor.shapes().bytes(SLUICE_PORT_INPUT, i), " bytes");
      continue;
    }
    if (!isInteger(input))
      return failure("input '", input.name, "' has elements of type ", input.element_type,
                     ", and generation fills only int32 and int64, give the data of this input");
    if (roles[i] == Role::Tokens)
      tokenInput = i, hasTokens = true;
    made[i].resize(static_cast<size_t>(input.bytes));
    pointers[i] = made[i].data();
  }
  if (!hasTokens)
    return failure("model '", executor.model()->name, "' has no input 'input_ids' or 'tokens', its inputs are ",
                   names.empty() ? "none" : names, ", rename the input of the tokens");
  return {};
}

Status Generator::findLogits() {
  const std::vector<sluice_tensor_desc> &outputs = executor.described().outputs;
  std::vector<size_t> candidates;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.emplace_back(static_cast<size_t>(outputs[i].bytes));
    if (std::string_view(outputs[i].name) == "logits")
      candidates.assign(1, i);
    else if (candidates.empty() || std::string_view(outputs[candidates[0]].name) != "logits")
      candidates.push_back(i);
  }
  if (candidates.size() != 1)
    return failure("model '", executor.model()->name, "' has ", outputs.size(),
                   " outputs and none is named 'logits', rename the output of the logits");
  logits = candidates[0];
  const sluice_tensor_desc &output = outputs[logits];
  if (output.element_type != kFloatType || output.rank < 1 || output.shape[output.rank - 1] < 1)
    return failure("output '", output.name, "' does not hold logits, give float32 of at least one token");
  return {};
}

/// The tokens are one row: of all dimensions but the last, the extents are 1.
Status Generator::describeSequence() {
  const sluice_tensor_desc &tokens = executor.described().inputs[tokenInput];
  for (uint32_t d = 0; d + 1 < tokens.rank; ++d)
    if (tokens.shape[d] != 1)
      return failure("input '", tokens.name, "' has up to ", tokens.shape[d],
                     " rows, and generation needs one, compile the model for one row");
  sequence.most = sequence.least = tokens.rank > 0 ? tokens.shape[tokens.rank - 1] : 1;
  const Model &model = executor.described();
  for (size_t s = 0; s < model.symbols.size(); ++s) {
    const sluice_symbol_desc &symbol = model.symbols[s];
    if (symbol.input == tokenInput && symbol.dimension + 1 == tokens.rank)
      sequence = {s, std::max<int64_t>(symbol.least, 1), symbol.most, symbol.step};
    else if (symbol.input < roles.size() && roles[symbol.input] == Role::Mask &&
             symbol.dimension + 1 == model.inputs[symbol.input].rank)
      total = s;
  }
  return {};
}

/// How many of so many tokens the next step takes. What it leaves must make steps too.
Result<int64_t> Generator::nextChunk(int64_t count) const {
  for (int64_t chunk = sequence.most; chunk >= sequence.least; chunk -= sequence.step)
    if (chunk == count || (chunk < count && count - chunk >= sequence.least))
      return chunk;
  return failure(count, " tokens cannot be divided into steps of ", sequence.least, " to ", sequence.most, " tokens",
                 sequence.step == 1 ? "" : " that are multiples of " + std::to_string(sequence.step),
                 ", compile the model with a range of tokens that starts at 1");
}

void Generator::fill(size_t input, const int64_t *tokens) {
  const sluice_tensor_desc &desc = executor.described().inputs[input];
  int64_t count = 1;
  for (int64_t extent : shapeOf(SLUICE_PORT_INPUT, input))
    count *= extent;
  for (int64_t i = 0; i < count; ++i)
    putInteger(desc, made[input].data(), i,
               roles[input] == Role::Tokens ? tokens[i]
               : roles[input] == Role::Mask ? 1
                                            : position + i);
}

Status Generator::step(const int64_t *tokens, int64_t count) {
  if (sequence.symbol)
    if (Status status = executor.setSymbol(*sequence.symbol, count); !status)
      return status;
  if (total)
    if (Status status = executor.setSymbol(*total, position + count); !status)
      return status;
  for (size_t i = 0; i < roles.size(); ++i)
    if (roles[i] != Role::Given)
      fill(i, tokens);
  std::vector<void *> to;
  for (std::vector<char> &result : results)
    to.push_back(result.data());
  if (Status status = executor.step(pointers.data(), to.data()); !status)
    return status;
  position += count;
  return {};
}

Status Generator::feed(const int64_t *tokens, size_t count) {
  std::vector<int64_t> all;
  if (unfed)
    all.push_back(*unfed);
  all.insert(all.end(), tokens, tokens + count);
  for (size_t first = 0; first < all.size();) {
    Result<int64_t> chunk = nextChunk(static_cast<int64_t>(all.size() - first));
    if (!chunk)
      return tl::unexpected(chunk.error());
    if (Status status = step(all.data() + first, *chunk); !status)
      return status;
    unfed.reset();
    first += static_cast<size_t>(*chunk);
  }
  return {};
}

Result<int64_t> Generator::next() {
  if (Status status = feed(nullptr, 0); !status)
    return tl::unexpected(status.error());
  if (position == 0)
    return failure("no token was given to continue from, feed at least one token");
  const std::vector<int64_t> shape = shapeOf(SLUICE_PORT_OUTPUT, logits);
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    rows *= shape[d];
  if (rows < 1)
    return failure("output '", executor.described().outputs[logits].name,
                   "' has no row in this step, compile the model again");
  const auto *values = reinterpret_cast<const float *>(results[logits].data()) + (rows - 1) * shape.back();
  unfed = static_cast<int64_t>(sampler.pick(values, static_cast<size_t>(shape.back())));
  return *unfed;
}

} // namespace sluice::runtime
