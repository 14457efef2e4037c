package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
)

// newRoot makes the whole command. Each command line gets one of its own.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "registry",
		Short:         "Run the registry of services and their tools, and ask and administer one",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newServe(), newGet(), newDescribe(), newRegister(), newName(),
		newOrganization(), newApplication(), newUser(), newMachine(), newDelegate(), newRole(), newKey())
	return root
}

func newServe() *cobra.Command {
	var file, level string
	c := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Serve the registry over gRPC and REST until SIGTERM",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(file)
			if err != nil {
				return err
			}
			logger, err := newLogger(cmd.ErrOrStderr(), cfg.GetLogLevel(), level)
			if err != nil {
				return err
			}
			err = server.Run(cmd.Context(), cfg, logger, nil)
			logger.Info("registry stopped")
			return err
		},
	}
	configFlag(c, &file)
	c.Flags().StringVar(&level, "log-level", "", "debug, info, warn or error, instead of the configuration's")
	return c
}

func configFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "config", "", "YAML file with a sallyport.config.v1.RegistryConfig")
	_ = c.MarkFlagRequired("config")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
}

func loadConfig(file string) (*configv1.RegistryConfig, error) {
	cfg := new(configv1.RegistryConfig)
	return cfg, config.Load(file, cfg)
}

// newLogger logs JSON lines from the flag's level on, else the configuration's, else info.
func newLogger(to io.Writer, configured configv1.LogLevel, flag string) (*slog.Logger, error) {
	level := map[configv1.LogLevel]slog.Level{
		configv1.LogLevel_LOG_LEVEL_DEBUG: slog.LevelDebug,
		configv1.LogLevel_LOG_LEVEL_WARN:  slog.LevelWarn,
		configv1.LogLevel_LOG_LEVEL_ERROR: slog.LevelError,
	}[configured] // info is zero
	if flag != "" && level.UnmarshalText([]byte(flag)) != nil {
		return nil, errors.New("--log-level: want debug, info, warn or error")
	}
	return slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level})), nil
}

// group makes a command out of its subcommands: alone it shows its help, and with a word that is none of them it fails.
func group(c *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	c.AddCommand(subcommands...)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, sub := range subcommands {
			names = append(names, sub.Name())
		}
		return fmt.Errorf("there is no %q under %q: want one of %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))
	}
	return c
}
