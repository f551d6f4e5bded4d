//===- IrMutator.cpp - Changes tokens of IR, not bytes --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/fuzz/IrMutator.h"

#include "sluice/Support/Rng.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <vector>

namespace sluice::fuzz {

namespace {

constexpr std::array kPasses = {
    KnownPass{"dataflow-simplify", true},
    KnownPass{"dataflow-fuse-attention", true},
    KnownPass{"dataflow-assign-layout", true},
    KnownPass{"dataflow-ask-libraries", false},
    KnownPass{"dataflow-mark-positions", true},
    KnownPass{"dataflow-carry-states", true},
    KnownPass{"dataflow-pipeline", true},
    KnownPass{"dataflow-prune", true},
    KnownPass{"dataflow-split", true},
    KnownPass{"dataflow-fuse", true},
    KnownPass{"dataflow-group-loops", true},
    KnownPass{"dataflow-plan-programs", true},
    KnownPass{"dataflow-pool-experts", true},
    KnownPass{"dataflow-differentiate", true},
    KnownPass{"dataflow-train", true},
    KnownPass{"dataflow-to-exec", false},
    KnownPass{"dataflow-emit-kernels", false},
    KnownPass{"exec-attach-machine", false},
    KnownPass{"exec-attach-target", false},
    KnownPass{"exec-to-llvm", false},
    KnownPass{"exec-to-freestanding", false},
    KnownPass{"kernel-simplify", true},
    KnownPass{"kernel-expand-math", true},
    KnownPass{"kernel-expand-fma", true},
    KnownPass{"kernel-call-libm", false},
    KnownPass{"kernel-to-llvm", false},
    KnownPass{"lower-grids", false},
    KnownPass{"lower-kernels", false},
};

struct Token {
  size_t begin, size;
};

class Mutator {
public:
  Mutator(std::string_view text, uint64_t seed) : text(text), random(seed) {}
  std::string run();

private:
  template <typename T, size_t N>
  const T &anyOf(const std::array<T, N> &choices) {
    return choices[random.below(N)];
  }
  std::string at(const Token &token) const { return text.substr(token.begin, token.size); }
  /// Maximal runs of characters that satisfy `inside`, where the first one satisfies `first`.
  std::vector<Token> tokens(const std::function<bool(char)> &first, const std::function<bool(char)> &inside) const;
  std::vector<Token> lines() const;
  void replace(const Token &token, const std::string &with, bool everywhere);
  void changeNumber();
  void changeType();
  void changeElementType();
  void changeOperand();
  void changeWord();
  void changeLines();
  void changePass();

  std::string text;
  Rng random;
};

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

std::vector<Token> Mutator::tokens(const std::function<bool(char)> &first,
                                   const std::function<bool(char)> &inside) const {
  std::vector<Token> found;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!first(text[i]) || (i > 0 && inside(text[i - 1]) && inside(text[i])))
      continue;
    size_t end = i + 1;
    while (end < text.size() && inside(text[end]))
      ++end;
    found.push_back({i, end - i});
    i = end - 1;
  }
  return found;
}

std::vector<Token> Mutator::lines() const {
  return tokens([](char c) { return c != '\n'; }, [](char c) { return c != '\n'; });
}

void Mutator::replace(const Token &token, const std::string &with, bool everywhere) {
  const std::string old = at(token);
  if (!everywhere) {
    text.replace(token.begin, token.size, with);
    return;
  }
  constexpr size_t kMostBytes = size_t(1) << 16;
  for (size_t from = 0; (from = text.find(old, from)) != std::string::npos && text.size() < kMostBytes;
       from += with.size())
    text.replace(from, old.size(), with);
}

void Mutator::changeNumber() {
  static const std::array<std::string, 22> kOdd = {"0",
                                                   "1",
                                                   "-1",
                                                   "2",
                                                   "3",
                                                   "4",
                                                   "5",
                                                   "7",
                                                   "8",
                                                   "16",
                                                   "17",
                                                   "64",
                                                   "127",
                                                   "255",
                                                   "65536",
                                                   "2147483647",
                                                   "2147483648",
                                                   "4294967296",
                                                   "4611686018427387904",
                                                   "9223372036854775807",
                                                   "-9223372036854775808",
                                                   "-2"};
  const std::vector<Token> numbers = tokens(isDigit, isDigit);
  if (!numbers.empty())
    replace(numbers[random.below(numbers.size())], anyOf(kOdd), false);
}

void Mutator::changeType() {
  static const std::array<std::string, 9> kExtents = {"1", "2", "3", "5", "8", "17", "0", "64", "?"};
  // From "<" to ">", which may be a type's or an attribute's.
  std::vector<Token> types;
  for (size_t i = text.find("tensor<"); i != std::string::npos; i = text.find("tensor<", i + 1))
    if (const size_t end = text.find('>', i); end != std::string::npos)
      types.push_back({i, end + 1 - i});
  if (types.empty())
    return;
  const Token token = types[random.below(types.size())];
  std::string type = at(token);
  constexpr size_t kHead = sizeof "tensor<" - 1;
  std::vector<size_t> extents;
  for (size_t i = kHead; i < type.size(); ++i)
    if (isDigit(type[i]) && (i == kHead || type[i - 1] == 'x'))
      extents.push_back(i);
  if (extents.empty() || random.chance(0.2)) {
    type.insert(kHead, anyOf(kExtents) + "x");
  } else {
    const size_t begin = extents[random.below(extents.size())];
    size_t end = begin;
    while (end < type.size() && isDigit(type[end]))
      ++end;
    if (random.chance(0.2) && end < type.size() && type[end] == 'x')
      type.erase(begin, end + 1 - begin);
    else
      type.replace(begin, end - begin, anyOf(kExtents));
  }
  replace(token, type, random.chance(0.8));
}

void Mutator::changeElementType() {
  static const std::array<std::string, 14> kTypes = {"f32", "f16", "bf16", "f64", "i1",   "i8", "ui8",
                                                     "i16", "i32", "ui32", "i64", "ui64", "i4", "!dataflow.string"};
  const std::string old = anyOf(kTypes);
  const size_t first = text.find("x" + old + ">");
  if (first != std::string::npos)
    replace({first, old.size() + 2}, "x" + anyOf(kTypes) + ">", random.chance(0.8));
}

void Mutator::changeOperand() {
  const std::vector<Token> names =
      tokens([](char c) { return c == '%'; }, [](char c) { return c == '%' || c == '#' || isWord(c); });
  if (names.size() > 1)
    replace(names[random.below(names.size())], at(names[random.below(names.size())]), false);
}

void Mutator::changeWord() {
  const std::vector<Token> words =
      tokens([](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }, isWord);
  if (words.size() > 1)
    replace(words[random.below(words.size())], at(words[random.below(words.size())]), random.chance(0.3));
}

void Mutator::changeLines() {
  const std::vector<Token> all = lines();
  if (all.size() < 2)
    return;
  const Token line = all[random.below(all.size())], other = all[random.below(all.size())];
  const std::string moved = at(line) + "\n";
  if (random.chance(0.4))
    text.insert(other.begin, moved);
  if (const size_t at = text.find(moved); at != std::string::npos && random.chance(0.7))
    text.erase(at, moved.size());
}

void Mutator::changePass() {
  constexpr std::string_view kBegin = "// passes: ", kOptions = "// options: ";
  std::string line;
  if (random.chance(0.4))
    line = std::string(kOptions) + std::to_string(random.below(8)) + "\n";
  else if (line = std::string(kBegin) + anyOf(kPasses).name; random.chance(0.3))
    line += std::string("; ") + anyOf(kPasses).name + "\n";
  else
    line += "\n";
  if (text.starts_with(kBegin) || text.starts_with(kOptions))
    text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  text.insert(0, line);
}

std::string Mutator::run() {
  static constexpr std::array<void (Mutator::*)(), 12> kChanges = {
      &Mutator::changeNumber, &Mutator::changeNumber,      &Mutator::changeNumber,      &Mutator::changeType,
      &Mutator::changeType,   &Mutator::changeElementType, &Mutator::changeElementType, &Mutator::changeOperand,
      &Mutator::changeWord,   &Mutator::changeWord,        &Mutator::changeLines,       &Mutator::changePass};
  for (uint64_t i = 0, n = 1 + random.below(4); i < n && !text.empty(); ++i)
    (this->*anyOf(kChanges))();
  return std::move(text);
}

} // namespace

const KnownPass *findPass(std::string_view name) {
  const auto *found =
      std::find_if(kPasses.begin(), kPasses.end(), [&](const KnownPass &each) { return each.name == name; });
  return found == kPasses.end() ? nullptr : found;
}

std::string mutateIr(std::string_view text, uint64_t seed) { return Mutator(text, seed).run(); }

} // namespace sluice::fuzz
