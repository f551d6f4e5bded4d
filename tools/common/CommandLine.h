//===- CommandLine.h - CLI11, compiled once ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// CLI11 2.1 is a library of headers. A source that includes CLI/CLI.hpp compiles the
// constructors of the validators (PositiveNumber, ...), which are constants of that
// source, and clang compiles the formatter of help and the reader of configuration
// files, whether the source uses them or not: a second of processor time for each
// source. Here the constants are declared, and the formatter's and the reader's
// definitions are left out; Driver.cpp has both. All sources include CLI11 by this
// header.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_COMMON_COMMANDLINE_H
#define SLUICE_TOOLS_COMMON_COMMANDLINE_H

#define ExistingFile extern ExistingFile
#define ExistingDirectory extern ExistingDirectory
#define ExistingPath extern ExistingPath
#define NonexistentPath extern NonexistentPath
#define ValidIPV4 extern ValidIPV4
#define Number(...) extern Number
#define NonNegativeNumber(...) extern NonNegativeNumber
#define PositiveNumber(...) extern PositiveNumber
#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#undef ExistingFile
#undef ExistingDirectory
#undef ExistingPath
#undef NonexistentPath
#undef ValidIPV4
#undef Number
#undef NonNegativeNumber
#undef PositiveNumber

#endif // SLUICE_TOOLS_COMMON_COMMANDLINE_H
