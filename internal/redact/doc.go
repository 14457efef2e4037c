// Package redact makes what a service says about a failed call fit for the caller who sent the arguments.
//
// In come the tool's input document, the raw JSON of the arguments and the service's gRPC status; out come the words for
// the caller, in which nothing that the caller sent is repeated, and whether corrected arguments may succeed. The rules
// are those of boundary.md, "What a refusal says". The room knows JSON, the schema's node graph and gRPC's status. It
// must not know tools, MCP or HTTP, nor how a call is made.
//
// # What is shown
//
// Of the codes that are meant for callers ([Speaks]): the message, or in its place the first LocalizedMessage; then, one
// per line, the field violations of google.rpc.BadRequest and the violations of buf.validate.Violations, each with its
// published path where it leads to one. Where there is no message, the constant [Text] of the code. Other details are
// not shown: ErrorInfo, Help, DebugInfo, ResourceInfo, RequestInfo, PreconditionFailure, QuotaFailure, RetryInfo and
// whatever a service defines itself are for programs and operators. Control characters become spaces, and what is not
// UTF-8 the replacement character. A message has at most [MaxMessage] characters, a description [MaxDescription], and
// at most [MaxViolations] violations are written out. A text is cut between two tokens.
//
// # What is found
//
// Every string, number and key of the arguments that a text contains is replaced by its path in braces, for example
// {items[].skuCode}. It must stand as whole tokens, which letters, digits and underscores continue. Where several values
// fit, the longest one is taken, of equals the first that was sent; where values overlap, all that any of them covers is
// replaced, once. Found are also
//
//   - strings as a backslash escape spells them in Go, JSON, C, Python, Rust and the protobuf text format, up to three
//     levels deep, and as a URL escapes them;
//   - strings in upper or lower case (from three characters on), with other white space inside, without white space
//     around;
//   - numbers of the same value: 1e2 as 100, 12.5 as 12.50, 1234567 as 1,234,567, a float as the double it becomes;
//   - 64-bit integers with and without quotes;
//   - bytes as base64 of either alphabet, with and without padding, as text, in hexadecimal and as a list of numbers;
//   - timestamps in their own offset and in UTC, as RFC 3339, as Go, Python, C and mail spell them, and as Unix time;
//   - durations with any number of decimals, as Go prints them, and as a number of seconds or milliseconds;
//   - each path of a field mask, in either spelling;
//   - sixteen characters or more of a longer string, anywhere, together with the tokens that they begin and end in: what
//     a service cut short, or joined to something.
//
// Of a field that is marked sensitive, and of all within it, values of two characters or more are found anywhere, not
// only as whole tokens, and so are any six characters of a longer one; the whole tokens that they are in are replaced.
//
// # What is not found
//
// Not looked for are empty strings, booleans and null, and what the document itself names and so tells everybody: the
// values of enums, constants, the types of an Any, paths of properties in a field mask. (A value of a sensitive field is
// looked for all the same, unless its own property lists it.) The names of properties are ours. An integer of less than
// four digits is not found within a longer number, nor before its unit (30ms), and one or two characters are not found in
// another case. Not found, and not searched for, are
//
//   - fifteen characters or less of a longer string, and a part of a timestamp (five characters of a sensitive value);
//   - short values within a token, or joined to each other without anything between;
//   - numbers that the service rounded, converted to another unit, negated or added up;
//   - the number of an enum value, and a timestamp in an offset that is neither its own nor UTC;
//   - text in another Unicode normalization, transliterated, hashed, encrypted, compressed or translated;
//   - base64 or hexadecimal of what was not sent as bytes, escapes of HTML and XML, and more than three levels of escapes.
package redact
