// A device plugin that offers GPUs without hardware.
// Usage: fakegpu DIR COUNT SICK. DIR is the kubelet's folder of device plugins. SICK is a file with the names of the sick
// GPUs, separated by spaces; it is read every second and may be absent.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	resource   = "nvidia.com/gpu"
	socket     = "fakegpu.sock"
	lookEvery  = time.Second
	callAtMost = 10 * time.Second
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	count int
	sick  string
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (p *plugin) devices() []*api.Device {
	text, _ := os.ReadFile(p.sick)
	sick := strings.Fields(string(text))
	var all []*api.Device
	for i := range p.count {
		device := &api.Device{ID: fmt.Sprintf("GPU-%d", i), Health: api.Healthy}
		if slices.Contains(sick, device.ID) {
			device.Health = api.Unhealthy
		}
		all = append(all, device)
	}
	return all
}

// ListAndWatch sends the devices at once and after every change of their health.
func (p *plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	last := ""
	for {
		now := p.devices()
		if text := fmt.Sprint(now); text != last {
			last = text
			if err := stream.Send(&api.ListAndWatchResponse{Devices: now}); err != nil {
				return err
			}
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// Allocate gives a container the variable that NVIDIA's runtime reads, and a file in place of each GPU.
func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		granted := &api.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(container.DevicesIds, ",")},
		}
		for _, id := range container.DevicesIds {
			granted.Devices = append(granted.Devices, &api.DeviceSpec{
				HostPath:      "/dev/null",
				ContainerPath: "/dev/nvidia" + strings.TrimPrefix(id, "GPU-"),
				Permissions:   "rw",
			})
		}
		response.ContainerResponses = append(response.ContainerResponses, granted)
	}
	return response, nil
}

func main() {
	if len(os.Args) != 4 {
		check(fmt.Errorf("usage: fakegpu DIR COUNT SICK"))
	}
	folder := os.Args[1]
	count, err := strconv.Atoi(os.Args[2])
	check(err)
	_ = os.Remove(filepath.Join(folder, socket))
	listener, err := net.Listen("unix", filepath.Join(folder, socket))
	check(err)
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, &plugin{count: count, sick: os.Args[3]})
	ended := make(chan error)
	go func() { ended <- server.Serve(listener) }()
	check(register(filepath.Join(folder, "kubelet.sock")))
	fmt.Println("registered")
	check(<-ended)
}

func register(kubelet string) error {
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	limited, cancel := context.WithTimeout(context.Background(), callAtMost)
	defer cancel()
	request := &api.RegisterRequest{Version: api.Version, Endpoint: socket, ResourceName: resource}
	_, err = api.NewRegistrationClient(connection).Register(limited, request)
	return err
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
