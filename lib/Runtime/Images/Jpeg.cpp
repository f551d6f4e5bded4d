//===- Jpeg.cpp - JPEG by libjpeg-turbo -----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Images.h"

#include <csetjmp>
#include <cstdio>
// The header needs what precedes it.
#include <jpeglib.h>

namespace sluice::images {

namespace {

struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf escape;
  char text[JMSG_LENGTH_MAX];
};

void leave(j_common_ptr codec) {
  auto *errors = reinterpret_cast<Errors *>(codec->err);
  codec->err->format_message(codec, errors->text);
  std::longjmp(errors->escape, 1);
}

/// Warnings are of damaged data, of which the library would invent the rest.
void warn(j_common_ptr codec, int level) {
  if (level < 0)
    leave(codec);
}

/// A progressive image may have any number of scans of a few bytes, each of which visits all coefficients.
void limitScans(j_common_ptr codec) {
  constexpr int kMostScans = 500;
  auto *decoder = reinterpret_cast<j_decompress_ptr>(codec);
  if (decoder->input_scan_number <= kMostScans)
    return;
  auto *errors = reinterpret_cast<Errors *>(codec->err);
  std::snprintf(errors->text, sizeof errors->text, "it has more than %d scans", kMostScans);
  std::longjmp(errors->escape, 1);
}

/// Nothing between setjmp and longjmp has a destructor. Returns false where the library reports an error.
bool readHeader(jpeg_decompress_struct &codec, Errors &errors, Bytes bytes) {
  if (setjmp(errors.escape))
    return false;
  jpeg_create_decompress(&codec);
  jpeg_mem_src(&codec, bytes.data(), bytes.size());
  jpeg_read_header(&codec, TRUE);
  return true;
}

bool readPixels(jpeg_decompress_struct &codec, Errors &errors, uint8_t *pixels, size_t stride) {
  jpeg_progress_mgr progress{};
  progress.progress_monitor = limitScans;
  if (setjmp(errors.escape))
    return false;
  codec.progress = &progress;
  codec.out_color_space = JCS_RGB;
  jpeg_start_decompress(&codec);
  while (codec.output_scanline < codec.output_height) {
    JSAMPROW row = pixels + codec.output_scanline * stride;
    jpeg_read_scanlines(&codec, &row, 1);
  }
  jpeg_finish_decompress(&codec);
  return true;
}

class Codec {
public:
  Codec() {
    codec.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = leave;
    errors.manager.emit_message = warn;
    errors.text[0] = 0;
  }
  Codec(const Codec &) = delete;
  ~Codec() { jpeg_destroy_decompress(&codec); }
  jpeg_decompress_struct codec{};
  Errors errors{};
};

} // namespace

void decodeJpeg(Bytes bytes, Image &image) {
  Codec state;
  if (!readHeader(state.codec, state.errors, bytes))
    throw Unsound(state.errors.text);
  image.start(state.codec.image_height, state.codec.image_width);
  // A progressive image keeps its coefficients, and may have any number of scans.
  constexpr long kMostMemory = 256L << 20;
  state.codec.mem->max_memory_to_use = kMostMemory;
  if (!readPixels(state.codec, state.errors, image.pixels.data(), static_cast<size_t>(image.width) * 3))
    throw Unsound(state.errors.text);
}

} // namespace sluice::images
