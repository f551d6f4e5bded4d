//===- Jpeg2000.cpp - JPEG 2000 by OpenJPEG -------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Images.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <openjpeg.h>

namespace sluice::images {

namespace {

struct Source {
  Bytes bytes;
  size_t at = 0;

  static OPJ_SIZE_T read(void *to, OPJ_SIZE_T wanted, void *self) {
    auto &source = *static_cast<Source *>(self);
    const size_t count = std::min<size_t>(wanted, source.bytes.size() - source.at);
    if (count == 0)
      return static_cast<OPJ_SIZE_T>(-1);
    std::memcpy(to, source.bytes.data() + source.at, count);
    source.at += count;
    return count;
  }
  static OPJ_OFF_T skip(OPJ_OFF_T wanted, void *self) {
    auto &source = *static_cast<Source *>(self);
    if (wanted < 0 || static_cast<uint64_t>(wanted) > source.bytes.size() - source.at)
      return -1;
    source.at += static_cast<size_t>(wanted);
    return wanted;
  }
  static OPJ_BOOL seek(OPJ_OFF_T to, void *self) {
    auto &source = *static_cast<Source *>(self);
    if (to < 0 || static_cast<uint64_t>(to) > source.bytes.size())
      return OPJ_FALSE;
    source.at = static_cast<size_t>(to);
    return OPJ_TRUE;
  }
};

template <auto release>
struct Releaser {
  template <typename T>
  void operator()(T *handle) const {
    release(handle);
  }
};

uint64_t bigEndian(Bytes bytes, uint64_t at, size_t size) {
  if (at > bytes.size() || size > bytes.size() - at)
    throw Unsound("its header is wrong");
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i)
    value = value << 8 | bytes[at + i];
  return value;
}

/// Where the codestream begins: in a file of boxes it is the contents of the first box "jp2c".
uint64_t codestreamIn(Bytes bytes) {
  constexpr uint32_t kCodestream = 0x6a703263;
  for (uint64_t at = 0;;) {
    const uint64_t shortLength = bigEndian(bytes, at, 4), type = bigEndian(bytes, at + 4, 4);
    const uint64_t header = shortLength == 1 ? 16 : 8;
    if (type == kCodestream)
      return at + header;
    const uint64_t length = shortLength == 1 ? bigEndian(bytes, at + 8, 8) : shortLength;
    if (length < header || length > bytes.size() - at)
      throw Unsound("its header is wrong");
    at += length;
  }
}

constexpr uint64_t kMostComponents = 4;

/// Checks the extents, components and tiles that the codestream's first segment declares. OpenJPEG takes memory for all
/// of them while it reads the header: up to 16384 components of each of 65535 tiles.
void checkSize(Bytes bytes, uint64_t at, Image &image) {
  constexpr uint64_t kStartAndSize = 0xff4fff51;
  if (bigEndian(bytes, at, 4) != kStartAndSize)
    throw Unsound("its header is wrong");
  auto field = [&](size_t number) { return bigEndian(bytes, at + 8 + 4 * number, 4); };
  const uint64_t width = field(0), height = field(1), left = field(2), top = field(3), tileWidth = field(4),
                 tileHeight = field(5), tileLeft = field(6), tileTop = field(7),
                 components = bigEndian(bytes, at + 40, 2);
  if (width <= left || height <= top || tileWidth == 0 || tileHeight == 0 || tileLeft > left || tileTop > top)
    throw Unsound("its header is wrong");
  image.start(static_cast<int64_t>(height - top), static_cast<int64_t>(width - left));
  if (components < 1 || components > kMostComponents)
    throw Unsound("it has " + std::to_string(components) + " components");
  // A tile takes about 10 KiB, as 160 pixels of 64 bytes do.
  constexpr uint64_t kLeast = 1024, kPixels = 160;
  const uint64_t across = (width - tileLeft + tileWidth - 1) / tileWidth,
                 down = (height - tileTop + tileHeight - 1) / tileHeight;
  if (across * down > std::max(kLeast, (width - left) * (height - top) / kPixels))
    throw Unsound("it has " + std::to_string(across * down) + " tiles, too many for its pixels");
}

/// A sample of a component's precision as 8 bits.
uint8_t sample(const opj_image_comp_t &component, size_t index) {
  int64_t value = component.data[index];
  if (component.sgnd)
    value += int64_t(1) << (component.prec - 1);
  if (component.prec > 8)
    value >>= component.prec - 8;
  else if (component.prec < 8)
    value = value * 255 / ((1 << component.prec) - 1);
  return static_cast<uint8_t>(std::clamp<int64_t>(value, 0, 255));
}

} // namespace

void decodeJpeg2000(Bytes bytes, Image &image) {
  const bool isStream = bytes[0] == 0xff;
  checkSize(bytes, isStream ? 0 : codestreamIn(bytes), image);
  Source source{bytes};
  const std::unique_ptr<opj_stream_t, Releaser<opj_stream_destroy>> stream(opj_stream_default_create(OPJ_TRUE));
  const std::unique_ptr<opj_codec_t, Releaser<opj_destroy_codec>> codec(
      opj_create_decompress(isStream ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (!stream || !codec)
    throw std::bad_alloc();
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_stream_set_read_function(stream.get(), Source::read);
  opj_stream_set_skip_function(stream.get(), Source::skip);
  opj_stream_set_seek_function(stream.get(), Source::seek);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t *opened = nullptr;
  if (!opj_setup_decoder(codec.get(), &parameters) || !opj_read_header(stream.get(), codec.get(), &opened))
    throw Unsound("its header is wrong");
  const std::unique_ptr<opj_image_t, Releaser<opj_image_destroy>> decoded(opened);
  if (decoded->x1 < decoded->x0 || decoded->y1 < decoded->y0)
    throw Unsound("its header is wrong");
  image.start(int64_t(decoded->y1) - decoded->y0, int64_t(decoded->x1) - decoded->x0);
  if (decoded->numcomps < 1 || decoded->numcomps > kMostComponents)
    throw Unsound("it has " + std::to_string(decoded->numcomps) + " components");
  if (!opj_decode(codec.get(), stream.get(), decoded.get()) || !opj_end_decompress(codec.get(), stream.get()))
    throw Unsound("its data is damaged");
  if (decoded->color_space == OPJ_CLRSPC_SYCC || decoded->color_space == OPJ_CLRSPC_EYCC ||
      decoded->color_space == OPJ_CLRSPC_CMYK)
    throw Unsound("its colours are neither grey nor red, green and blue");
  // One or two components are grey and transparency.
  const uint32_t colours = decoded->numcomps < 3 ? 1 : 3;
  for (uint32_t c = 0; c < 3; ++c) {
    const opj_image_comp_t &component = decoded->comps[std::min(c, colours - 1)];
    constexpr uint32_t kMostBits = 31;
    if (!component.data || component.w != static_cast<uint32_t>(image.width) ||
        component.h != static_cast<uint32_t>(image.height) || component.prec < 1 || component.prec > kMostBits)
      throw Unsound("its components differ in size");
    for (size_t i = 0; i < image.pixels.size() / 3; ++i)
      image.pixels[i * 3 + c] = sample(component, i);
  }
}

} // namespace sluice::images
