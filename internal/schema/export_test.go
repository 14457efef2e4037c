package schema

// PortablePattern lets the tests, which compile protos with a package that knows this one, reach the function.
var PortablePattern = portablePattern

// Demand lets the tests reach the function.
var Demand = demand
