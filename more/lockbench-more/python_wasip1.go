package main

import "errors"

func servePython() error { return errors.New("redis-py is not a module") }
