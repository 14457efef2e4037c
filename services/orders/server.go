package orders

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/timestamppb"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
)

// defaultDueDays is when an invoice is due where the request does not say.
const defaultDueDays = 14

// Server implements acme.orders.v1.OrderService. It is safe for concurrent use.
type Server struct {
	ordersv1.UnimplementedOrderServiceServer
	store *Store
	now   func() time.Time
}

// New makes the service on a store, which stays the caller's to close.
func New(store *Store) *Server { return &Server{store: store, now: time.Now} }

// Register puts the service on a gRPC server.
func (s *Server) Register(registrar grpc.ServiceRegistrar) {
	ordersv1.RegisterOrderServiceServer(registrar, s)
}

// FindById finds one order: NOT_FOUND where there is none.
func (s *Server) FindById(ctx context.Context, request *ordersv1.FindByIdRequest) (*ordersv1.FindByIdResponse, error) {
	order, err := s.store.Get(request.GetOrderId())
	if err != nil {
		return nil, answer(ctx, err)
	}
	return &ordersv1.FindByIdResponse{Order: order}, nil
}

// Search finds orders by filters, page by page.
func (s *Server) Search(ctx context.Context, request *ordersv1.SearchRequest) (*ordersv1.SearchResponse, error) {
	response, err := search(s.store, request)
	if err != nil {
		return nil, answer(ctx, err)
	}
	return response, nil
}

// Place prices and keeps a new order: INVALID_ARGUMENT where a product or the country of delivery is not the shop's.
func (s *Server) Place(ctx context.Context, request *ordersv1.PlaceRequest) (*ordersv1.PlaceResponse, error) {
	who, _ := participant.FromContext(ctx)
	now := timestamppb.New(s.now())
	order := &ordersv1.Order{
		Status: ordersv1.OrderStatus_ORDER_STATUS_PENDING, Customer: request.GetCustomer(), ShipTo: request.GetShipTo(),
		Labels: request.GetLabels(), PlacedAt: now, UpdatedAt: now, PlacedBy: who.GetId(),
	}
	in, ok := markets[request.GetShipTo().GetCountry()]
	if !ok {
		return nil, invalid("ship_to.country", "the shop does not deliver to this country, only to "+countries())
	}
	seen := make(map[string]bool)
	for i, line := range request.GetLines() {
		field := fmt.Sprintf("lines[%d].sku", i)
		if _, ok := findProduct(line.GetSku()); !ok {
			return nil, invalid(field, "the shop has no such product: see ListProducts")
		}
		if seen[line.GetSku()] {
			return nil, invalid(field, "the product is ordered twice: give one line with the whole quantity")
		}
		seen[line.GetSku()] = true
		order.Lines = append(order.Lines, &ordersv1.OrderLine{Sku: line.GetSku(), Quantity: line.GetQuantity()})
	}
	price(order, in)
	switch payment := request.GetPayment().(type) {
	case *ordersv1.PlaceRequest_Card:
		// Cards are charged at once.
		order.Status = ordersv1.OrderStatus_ORDER_STATUS_PAID
		order.Payment = &ordersv1.Order_Card{Card: payment.Card}
	case *ordersv1.PlaceRequest_Invoice:
		if payment.Invoice.GetDueDays() == 0 {
			payment.Invoice.DueDays = defaultDueDays
		}
		order.Payment = &ordersv1.Order_Invoice{Invoice: payment.Invoice}
	}
	placed, err := s.store.Place(order, requestKey(who, request.GetRequestId()))
	if err != nil {
		return nil, answer(ctx, err)
	}
	return &ordersv1.PlaceResponse{Order: placed}, nil
}

// requestKey keeps the request ids of different callers apart.
func requestKey(who *participant.Participant, id string) string {
	if id == "" {
		return ""
	}
	return strings.Join([]string{who.GetOrganizationId(), who.GetApplicationId(), who.GetId(), id}, "\x00")
}

// Cancel cancels an order: FAILED_PRECONDITION once it is shipped. One that is cancelled already stays as it is.
func (s *Server) Cancel(ctx context.Context, request *ordersv1.CancelRequest) (*ordersv1.CancelResponse, error) {
	order, err := s.store.Update(request.GetOrderId(), func(order *ordersv1.Order) error {
		switch order.GetStatus() {
		case ordersv1.OrderStatus_ORDER_STATUS_CANCELLED:
			return nil
		case ordersv1.OrderStatus_ORDER_STATUS_SHIPPED, ordersv1.OrderStatus_ORDER_STATUS_DELIVERED:
			return errShipped
		}
		now := timestamppb.New(s.now())
		order.Status, order.UpdatedAt = ordersv1.OrderStatus_ORDER_STATUS_CANCELLED, now
		order.Cancellation = &ordersv1.Cancellation{Reason: request.GetReason(), Note: request.GetNote(), CancelledAt: now}
		return nil
	})
	if err != nil {
		return nil, answer(ctx, err)
	}
	return &ordersv1.CancelResponse{Order: order}, nil
}

// ListProducts lists the price list.
func (s *Server) ListProducts(_ context.Context, request *ordersv1.ListProductsRequest) (*ordersv1.ListProductsResponse, error) {
	response := &ordersv1.ListProductsResponse{}
	for _, p := range products {
		if request.GetCategory() == "" || p.category == request.GetCategory() {
			response.Products = append(response.Products, p.proto())
		}
	}
	return response, nil
}

// Watch streams an order at once and after each change, until the caller leaves or the process does.
func (s *Server) Watch(request *ordersv1.WatchRequest, stream grpc.ServerStreamingServer[ordersv1.WatchResponse]) error {
	ctx := stream.Context()
	changed, forget, err := s.store.Watch(request.GetOrderId())
	if err != nil {
		return answer(ctx, err)
	}
	defer forget()
	for {
		order, err := s.store.Get(request.GetOrderId())
		if err != nil {
			return answer(ctx, err)
		}
		if err := stream.Send(&ordersv1.WatchResponse{Order: order}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-service.Leaving(ctx):
			return status.Error(codes.Unavailable, "the process is stopping: watch again")
		}
	}
}

var errShipped = errors.New("the order has been shipped")

// answer turns an error of ours into what the caller is told. What is not foreseen is logged and not shown.
func answer(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return status.Error(codes.NotFound, ErrNotFound.Error())
	case errors.Is(err, errPageToken):
		return invalid("page_token", errPageToken.Error())
	case errors.Is(err, errShipped):
		return detailed(codes.FailedPrecondition, "a shipped order cannot be cancelled",
			&errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{{
				Type: "ORDER_STATUS", Subject: "order", Description: "The order has left the house: the customer may send it back.",
			}}})
	}
	slog.ErrorContext(ctx, "order store failed", "error", err)
	return status.Error(codes.Internal, "the order store failed")
}

// invalid says what is wrong with one field of the request, without repeating what the caller sent.
func invalid(field, description string) error {
	return detailed(codes.InvalidArgument, "the request cannot be served as it stands",
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: description}}})
}

func detailed(code codes.Code, message string, detail protoadapt.MessageV1) error {
	st, err := status.New(code, message).WithDetails(detail)
	if err != nil {
		return status.Error(code, message)
	}
	return st.Err()
}
