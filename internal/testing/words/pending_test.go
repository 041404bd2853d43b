package words

// notSwept are directories whose texts are still to be rewritten. A directory that is rewritten leaves the list.
const notSwept = `
checker
checker/internal/locksim
checker/internal/proof
service
service/consul
service/etcd
service/mariadb
service/nats
service/operator
service/postgres
service/redis
service/redis/simredis
service/zookeeper
`
