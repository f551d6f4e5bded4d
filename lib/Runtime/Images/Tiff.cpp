//===- Tiff.cpp - TIFF by libtiff -----------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Images.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <tiffio.h>

namespace sluice::images {

namespace {

/// A file in memory, as libtiff reads one.
struct Source {
  Bytes bytes;
  uint64_t at = 0;

  static Source &of(thandle_t handle) { return *static_cast<Source *>(handle); }
  static tmsize_t read(thandle_t handle, void *to, tmsize_t wanted) {
    Source &self = of(handle);
    const uint64_t left = self.bytes.size() - std::min<uint64_t>(self.at, self.bytes.size());
    const uint64_t count = std::min<uint64_t>(left, wanted > 0 ? static_cast<uint64_t>(wanted) : 0);
    if (count > 0)
      std::memcpy(to, self.bytes.data() + self.at, count);
    self.at += count;
    return static_cast<tmsize_t>(count);
  }
  static tmsize_t write(thandle_t, void *, tmsize_t) { return 0; }
  static toff_t seek(thandle_t handle, toff_t to, int whence) {
    Source &self = of(handle);
    self.at = whence == SEEK_SET ? to : whence == SEEK_CUR ? self.at + to : self.bytes.size() + to;
    return self.at;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t handle) { return of(handle).bytes.size(); }
};

struct Closer {
  void operator()(TIFF *file) const { TIFFClose(file); }
};

} // namespace

void decodeTiff(Bytes bytes, Image &image) {
  // libtiff 4.5 has handlers of messages for the process alone: it says nothing, and what is wrong stays unsaid.
  static const bool isQuiet = [] {
    TIFFSetErrorHandler(nullptr);
    TIFFSetWarningHandler(nullptr);
    return true;
  }();
  (void)isQuiet;
  Source source{bytes};
  // Nothing is mapped; strips are not chopped.
  const std::unique_ptr<TIFF, Closer> file(TIFFClientOpen("image", "rm", &source, Source::read, Source::write,
                                                          Source::seek, Source::close, Source::size, nullptr, nullptr));
  uint32_t width = 0, height = 0;
  if (!file || !TIFFGetField(file.get(), TIFFTAG_IMAGEWIDTH, &width) ||
      !TIFFGetField(file.get(), TIFFTAG_IMAGELENGTH, &height))
    throw Unsound("its header is wrong");
  image.start(height, width);
  // Transparency is left out: samples that are multiplied by it already stay as they are stored.
  uint16_t extras = 0, *kinds = nullptr;
  if (TIFFGetField(file.get(), TIFFTAG_EXTRASAMPLES, &extras, &kinds) && extras > 0) {
    std::vector<uint16_t> changed(kinds, kinds + extras);
    std::replace(changed.begin(), changed.end(), uint16_t(EXTRASAMPLE_UNASSALPHA), uint16_t(EXTRASAMPLE_ASSOCALPHA));
    TIFFSetField(file.get(), TIFFTAG_EXTRASAMPLES, extras, changed.data());
  }
  char why[1024] = "";
  if (!TIFFRGBAImageOK(file.get(), why))
    throw Unsound(why);
  // A strip or tile is decoded as a whole: one larger than the image's pixels is not sound.
  const uint64_t largest = std::max(TIFFStripSize64(file.get()), TIFFTileSize64(file.get()));
  constexpr uint64_t kMostBytesPerPixel = 64, kLeast = 1 << 20;
  if (largest > std::max<uint64_t>(kLeast, uint64_t(width) * height * kMostBytesPerPixel))
    throw Unsound("its strips or tiles are larger than the image");
  std::vector<uint32_t> raster(static_cast<size_t>(width) * height);
  if (!TIFFReadRGBAImageOriented(file.get(), width, height, raster.data(), ORIENTATION_TOPLEFT, /*stop=*/1))
    throw Unsound("its data is damaged");
  for (size_t i = 0; i < raster.size(); ++i) {
    uint8_t *pixel = &image.pixels[i * 3];
    pixel[0] = static_cast<uint8_t>(TIFFGetR(raster[i]));
    pixel[1] = static_cast<uint8_t>(TIFFGetG(raster[i]));
    pixel[2] = static_cast<uint8_t>(TIFFGetB(raster[i]));
  }
}

} // namespace sluice::images
