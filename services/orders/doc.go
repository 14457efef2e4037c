// Package orders is the demo service of an application: a shop for tea and coffee keeps its orders here.
//
// [Server] implements acme.orders.v1.OrderService on a [Store], which is one bbolt file. In come validated requests
// (the service package's interceptor holds them to the rules in the proto); out go orders, or gRPC errors with
// google.rpc details. Prices, totals and the states of an order are decided here and nowhere else.
//
// What it must not know: the registry, the edge and MCP. That its RPCs are tools, its proto says; that they are
// registered, its program (cmd/orders).
package orders
