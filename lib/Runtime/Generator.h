//===- Generator.h - Text from a model of its next token --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A step takes the tokens that follow those of earlier steps, which the model's states hold, and computes logits of the
// next token. The prompt is fed in as few steps as the model allows, and each later token in a step of its own.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_GENERATOR_H
#define SLUICE_RUNTIME_GENERATOR_H

#include "Executor.h"
#include "Sampling.h"

#include <optional>
#include <vector>

namespace sluice::runtime {

class Generator {
public:
  /// Resets the executor's states. `executor` and the inputs outlive this object. Fails if the roles of the model's
  /// inputs and outputs are unclear: see sluice_generator_open.
  static Result<Generator> create(Executor &executor, const void *const *inputs, const sluice_sampling *sampling);

  /// Appends tokens to those fed before.
  Status feed(const int64_t *tokens, size_t count);
  /// Picks the next token, and first feeds the token that the last call returned.
  Result<int64_t> next();

private:
  /// What an input gets: data of the caller (Given), or data that the generator makes.
  enum class Role : uint8_t { Given, Tokens, Mask, Positions };
  /// The extent of a step's tokens: a number, or a symbol of the model.
  struct Sequence {
    std::optional<size_t> symbol;
    int64_t least = 1, most = 1, step = 1;
  };

  Generator(Executor &executor, Sampler sampler) : executor(executor), sampler(std::move(sampler)) {}
  Status takeInputs(const void *const *given);
  Status findLogits();
  Status describeSequence();
  Result<int64_t> nextChunk(int64_t count) const;
  Status step(const int64_t *tokens, int64_t count);
  void fill(size_t input, const int64_t *tokens);
  std::vector<int64_t> shapeOf(uint32_t port, size_t index) const;

  Executor &executor;
  Sampler sampler;
  std::vector<Role> roles;                ///< Per input.
  std::vector<const void *> pointers;     ///< Per input.
  std::vector<std::vector<char>> made;    ///< Per input: the generator's own data.
  std::vector<std::vector<char>> results; ///< Per output.
  size_t tokenInput = 0, logits = 0;
  Sequence sequence;
  std::optional<size_t> total;  ///< The symbol that is a mask's extent, if no other symbols determine that extent.
  int64_t position = 0;         ///< Tokens fed so far.
  std::optional<int64_t> unfed; ///< The token that next() returned last, while it is not fed.
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_GENERATOR_H
