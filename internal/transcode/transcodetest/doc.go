// Package transcodetest is the oracle of gate and transcoder: protojson over dynamic messages, with one pass over the
// JSON on each side for what ProtoJSON does not know (published names, fields that are in no schema, numeric 64-bit
// integers). Tests hold the compiled ones to it; no program links it.
package transcodetest
