package conformance

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
)

// picture is a PNG of one red pixel.
var picture = func() []byte {
	pixel := image.NewRGBA(image.Rect(0, 0, 1, 1))
	pixel.Set(0, 0, color.RGBA{R: 0xff, A: 0xff})
	var b bytes.Buffer
	if err := png.Encode(&b, pixel); err != nil {
		panic(err) // a buffer takes everything, and one pixel can be encoded
	}
	return b.Bytes()
}()

// sound is a WAV file of silence: a tenth of a second of one channel with 8-bit samples, 8,000 in a second.
var sound = func() []byte {
	const rate, channels, sampleBytes = 8000, 1, 1
	samples := bytes.Repeat([]byte{0x80}, rate/10) // 8-bit samples are unsigned: the middle is silence
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, uint32(36+len(samples))) // what follows these eight bytes
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16) // length of the format
	b = binary.LittleEndian.AppendUint16(b, 1)  // uncompressed
	b = binary.LittleEndian.AppendUint16(b, channels)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate*channels*sampleBytes)
	b = binary.LittleEndian.AppendUint16(b, channels*sampleBytes)
	b = binary.LittleEndian.AppendUint16(b, 8*sampleBytes)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(samples)))
	return append(b, samples...)
}()
