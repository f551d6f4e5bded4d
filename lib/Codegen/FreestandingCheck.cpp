//===- FreestandingCheck.cpp - What freestanding objects call -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Only the object shows every call: LLVM also calls functions for instructions that a
// processor does not have.
//
//===----------------------------------------------------------------------===//
#include "FreestandingCheck.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/Wasm.h"

namespace sluice {

namespace {

using llvm::object::ELFSymbolRef;
using llvm::object::ObjectFile;
using llvm::object::RelocationRef;
using llvm::object::section_iterator;
using llvm::object::SectionRef;
using llvm::object::symbol_iterator;
using llvm::object::SymbolRef;
using llvm::object::WasmObjectFile;

/// Calls that LLVM generates for assignments, and that every freestanding C compiler expects too.
constexpr llvm::StringLiteral kAllowed[] = {"memcpy", "memmove", "memset",
                                            // WebAssembly's, which its linker defines.
                                            "__stack_pointer", "__indirect_function_table"};

/// The function of an object that has the byte at `offset` of a section; empty: none has.
llvm::Expected<std::string> functionAt(const ObjectFile &file, const SectionRef &section, uint64_t offset) {
  if (auto *module = llvm::dyn_cast<WasmObjectFile>(&file)) {
    for (const llvm::wasm::WasmFunction &function : module->functions())
      if (offset >= function.CodeSectionOffset && offset - function.CodeSectionOffset < function.Size)
        return function.SymbolName.str();
    return std::string();
  }
  for (const ELFSymbolRef symbol : file.symbols()) {
    llvm::Expected<SymbolRef::Type> type = symbol.getType();
    if (!type)
      return type.takeError();
    llvm::Expected<section_iterator> home = symbol.getSection();
    if (!home)
      return home.takeError();
    if (*type != SymbolRef::ST_Function || *home == file.section_end() || **home != section)
      continue;
    llvm::Expected<uint64_t> begin = symbol.getValue();
    if (!begin)
      return begin.takeError();
    if (offset < *begin || offset - *begin >= symbol.getSize())
      continue;
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    return name->str();
  }
  return std::string();
}

/// The function that uses a symbol first.
llvm::Expected<std::string> userOf(const ObjectFile &file, llvm::StringRef symbol) {
  for (const SectionRef &section : file.sections()) {
    llvm::Expected<section_iterator> relocated = section.getRelocatedSection();
    if (!relocated)
      return relocated.takeError();
    for (const RelocationRef &relocation : section.relocations()) {
      const symbol_iterator used = relocation.getSymbol();
      if (used == file.symbol_end())
        continue;
      llvm::Expected<llvm::StringRef> name = used->getName();
      if (!name)
        return name.takeError();
      if (*name == symbol)
        return functionAt(file, **relocated, relocation.getOffset());
    }
  }
  return std::string();
}

/// The first symbol that is not allowed, and the function that uses it.
llvm::Expected<std::pair<std::string, std::string>> findForeign(std::string_view object) {
  auto file = ObjectFile::createObjectFile(llvm::MemoryBufferRef(llvm::StringRef(object), "model.o"));
  if (!file)
    return file.takeError();
  for (const SymbolRef &symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if (!(*flags & SymbolRef::SF_Undefined) || name->empty() || llvm::is_contained(kAllowed, *name))
      continue;
    llvm::Expected<std::string> user = userOf(**file, *name);
    if (!user)
      return user.takeError();
    return std::pair(name->str(), *user);
  }
  return std::pair<std::string, std::string>();
}

} // namespace

Status checkFreestanding(std::string_view object, std::span<const std::pair<std::string, std::string>> kernels) {
  llvm::Expected<std::pair<std::string, std::string>> foreign = findForeign(object);
  if (!foreign)
    return makeError(ErrorCode::Internal, "a freestanding object cannot be read: ", llvm::toString(foreign.takeError()),
                     ", this is a bug of Sluice, please report it");
  const auto &[symbol, user] = *foreign;
  if (symbol.empty())
    return {};
  // A kernel's chunks and members have its name and more, as another kernel may.
  const std::pair<std::string, std::string> *kernel = nullptr;
  for (const auto &each : kernels)
    if ((user == each.first || user.starts_with(each.first + "_")) &&
        (!kernel || each.first.size() > kernel->first.size()))
      kernel = &each;
  return makeError(
      ErrorCode::Unsupported, kernel ? concat("operator '", kernel->second, "'") : concat("function '", user, "'"),
      " calls library function '", symbol,
      "', which programs without the runtime do not contain, leave the operator out of the model, or give a "
      "--target with instructions for the operator");
}

} // namespace sluice
