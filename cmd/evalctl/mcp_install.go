package main

type mcpInstallCmd struct{}

func (*mcpInstallCmd) Run() error { return nil }
