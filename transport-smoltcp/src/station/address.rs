//! Addresses: our own, by DHCP (RFC 2131) or fixed, and the server's, by DNS (RFC 1035) or as it is.

use super::Station;
use pagewire::Error;
use smoltcp::iface::Route;
use smoltcp::phy::Device;
use smoltcp::socket::{dhcpv4, dns};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{DnsQueryType, IpAddress, IpCidr};

/// How long a DHCP server may take: smoltcp asks again every 10 s.
pub const CONFIGURE_TIMEOUT: Duration = Duration::from_secs(25);

/// How long a DNS server may take, whatever it is asked for: smoltcp gives up each question by itself after 10 s.
pub const RESOLVE_TIMEOUT: Duration = Duration::from_secs(15);

/// What a name is asked for, in this order.
const KINDS: &[DnsQueryType] = &[
    DnsQueryType::A,
    #[cfg(feature = "ipv6")]
    DnsQueryType::Aaaa,
];

/// Where the interface has its address from.
#[derive(Clone, Copy, Debug)]
pub enum Address {
    /// Whatever a DHCP server gives, with router and DNS server, renewed in time. IPv4, over Ethernet.
    Dhcp,
    /// This one.
    Fixed {
        /// The address and the length of its prefix.
        address: IpCidr,
        /// The router, if the server is beyond one.
        router: Option<IpAddress>,
        /// Who knows the server's name, if it is a name.
        resolver: Option<IpAddress>,
    },
}

impl<D: Device, C: FnMut() -> Instant> Station<'_, D, C> {
    /// Gives the interface its address, and says which. `TimedOut` if no DHCP server has given one within
    /// [`CONFIGURE_TIMEOUT`]; it may be asked again.
    pub fn configure(&mut self, address: Address) -> Result<IpCidr, Error> {
        match address {
            Address::Fixed { address, router, resolver } => {
                self.dhcp.take().map(|dhcp| self.sockets.remove(dhcp));
                self.use_address(Some(address), router, resolver.as_slice());
            }
            Address::Dhcp if self.dhcp.is_none() => {
                self.use_address(None, None, &[]);
                self.dhcp = Some(self.sockets.add(dhcpv4::Socket::new()));
            }
            Address::Dhcp => {}
        }
        self.poll_until(CONFIGURE_TIMEOUT, |station| station.interface.ip_addrs().first().copied())
    }

    /// Finds the server, by its address or its name, for the next [`connect`](Self::connect), and says where it is. `Invalid` if no DNS
    /// server knows that name, or none answers; `TimedOut` after [`RESOLVE_TIMEOUT`] at the latest.
    pub fn find(&mut self, host: &str) -> Result<IpAddress, Error> {
        let address = match host.parse() {
            Ok(address) => address,
            Err(()) => self.resolve(host)?,
        };
        self.server = Some(address);
        Ok(address)
    }

    fn resolve(&mut self, name: &str) -> Result<IpAddress, Error> {
        let end = (self.clock)() + RESOLVE_TIMEOUT;
        for kind in KINDS {
            let dns = self.sockets.get_mut::<dns::Socket>(self.dns);
            let query = dns
                .start_query(self.interface.context(), name, *kind)
                .map_err(|_| Error::Invalid("the server's name is neither an address nor one of DNS"))?;
            let answer = self.poll_up_to(end, |station| {
                let dns = station.sockets.get_mut::<dns::Socket>(station.dns);
                match dns.get_query_result(query) {
                    Err(dns::GetQueryResultError::Pending) => None,
                    result => Some(result.ok()),
                }
            });
            let dns = self.sockets.get_mut::<dns::Socket>(self.dns);
            let addresses = answer.inspect_err(|_| dns.cancel_query(query))?;
            if let Some(address) = addresses.and_then(|addresses| addresses.first().copied()) {
                return Ok(address);
            }
        }
        Err(Error::Invalid("no DNS server knows the server's name"))
    }

    /// What the DHCP server has said, if anything.
    pub(super) fn follow_dhcp(&mut self) {
        let Some(dhcp) = self.dhcp else { return };
        match self.sockets.get_mut::<dhcpv4::Socket>(dhcp).poll() {
            Some(dhcpv4::Event::Configured(given)) => {
                let (address, router) = (given.address, given.router);
                let resolver = given.dns_servers.first().map(|server| IpAddress::Ipv4(*server));
                self.use_address(Some(address.into()), router.map(IpAddress::Ipv4), resolver.as_slice());
            }
            Some(dhcpv4::Event::Deconfigured) => self.use_address(None, None, &[]),
            None => {}
        }
    }

    fn use_address(&mut self, address: Option<IpCidr>, router: Option<IpAddress>, resolvers: &[IpAddress]) {
        // There is room for one address and one route, at least.
        self.interface.update_ip_addrs(|addresses| {
            addresses.clear();
            addresses.extend(address);
        });
        self.interface.routes_mut().update(|routes| {
            routes.clear();
            // A prefix of no bits holds every address of that kind.
            routes.extend(router.map(|via_router| Route {
                cidr: IpCidr::new(via_router, 0),
                via_router,
                preferred_until: None,
                expires_at: None,
            }));
        });
        self.sockets.get_mut::<dns::Socket>(self.dns).update_servers(resolvers);
    }
}
