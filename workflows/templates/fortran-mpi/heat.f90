! A rod is heated at its left end and kept at its first temperature at the right end.
!
!     rho c dT/dt = d/dx ( k(T) dT/dx ),   k(T) = conductivity (1 + slope T),   T = temperature above the start
!
! Cells are shared out among MPI ranks, which exchange one cell with each neighbour in every step. Usage: heat FILE.nml
program heat
  use mpi
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  real(dp), parameter :: length = 0.1_dp          ! m
  real(dp), parameter :: capacity = 3.5e6_dp      ! J/(m^3 K), density times specific heat
  real(dp), parameter :: duration = 150.0_dp      ! s
  real(dp), parameter :: hottest = 1.0e4_dp       ! K; beyond it the steps were too large
  integer :: cells
  real(dp) :: conductivity, slope, flux, safety
  namelist /rod/ cells, conductivity, slope, flux, safety

  integer :: rank, ranks, error, first, own, left, right, step, steps, cell
  real(dp) :: width, dt, largest
  real(dp), allocatable :: t(:), through(:)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call check_world_size()
  call read_input()

  own = cells / ranks + merge(1, 0, rank < mod(cells, ranks))
  first = rank * (cells / ranks) + min(rank, mod(cells, ranks))
  left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
  allocate (t(0:own + 1), through(0:own))
  t = 0.0_dp

  ! The step is bound by the largest conductivity that the surface can reach.
  width = length / cells
  largest = conductivity * (1.0_dp + max(0.0_dp, slope) * flux * length / conductivity)
  steps = ceiling(duration * 2.0_dp * largest / (capacity * width**2 * safety))
  dt = duration / steps

  do step = 1, steps
    call exchange()
    do cell = 0, own
      through(cell) = -mean_conductivity(t(cell), t(cell + 1)) * (t(cell + 1) - t(cell)) / width
    end do
    if (left == MPI_PROC_NULL) through(0) = flux
    if (right == MPI_PROC_NULL) through(own) = mean_conductivity(t(own), 0.0_dp) * t(own) / (width / 2)
    t(1:own) = t(1:own) + dt / (capacity * width) * (through(0:own - 1) - through(1:own))
  end do

  call write_output()
  call MPI_Finalize(error)

contains

  ! Ranks that were started by another MPI's launcher would each believe to be alone.
  subroutine check_world_size()
    character(len=32) :: text
    integer :: expected, status
    call get_environment_variable('SURROGATE_WORLD_SIZE', text, status=status)
    if (status /= 0) return
    read (text, *) expected
    if (expected == ranks) return
    write (*, '(a,i0,a,i0,a)') 'WORLD SIZE: ', expected, ' ranks were launched, and this rank finds a world of ', ranks, '.'
    call MPI_Abort(MPI_COMM_WORLD, 3, error)
  end subroutine

  subroutine read_input()
    character(len=256) :: name
    integer :: unit, status
    call get_command_argument(1, name)
    open (newunit=unit, file=trim(name), status='old', action='read', iostat=status)
    if (status == 0) read (unit, nml=rod, iostat=status)
    status = abs(status)
    call MPI_Allreduce(MPI_IN_PLACE, status, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, error)
    if (status /= 0) call give_up('HEAT: the namelist /rod/ cannot be read from "'//trim(name)//'".')
    close (unit)
    if (cells < ranks) call give_up('HEAT: there are fewer cells than ranks.')
  end subroutine

  ! All ranks give up together: a launcher may drop the last words of a job that one of them aborts.
  subroutine give_up(sentence)
    character(len=*), intent(in) :: sentence
    if (rank == 0) write (*, '(a)') sentence
    flush (6)
    call MPI_Finalize(error)
    stop 1
  end subroutine

  pure real(dp) function mean_conductivity(here, there)
    real(dp), intent(in) :: here, there
    mean_conductivity = conductivity * (1.0_dp + slope * (here + there) / 2)
  end function

  subroutine exchange()
    call MPI_Sendrecv(t(own), 1, MPI_DOUBLE_PRECISION, right, 1, t(0), 1, MPI_DOUBLE_PRECISION, left, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Sendrecv(t(1), 1, MPI_DOUBLE_PRECISION, left, 2, t(own + 1), 1, MPI_DOUBLE_PRECISION, right, 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end subroutine

  subroutine write_output()
    integer :: unit, other, counts(ranks), places(ranks)
    real(dp) :: whole(cells), drawn(cells), stored
    logical :: stable
    stable = all(abs(t(1:own)) < hottest)
    call MPI_Allreduce(MPI_IN_PLACE, stable, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
    if (.not. stable) call give_up('HEAT: unstable, the steps in time are too large.')
    call MPI_Allgather(own, 1, MPI_INTEGER, counts, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    places = [(sum(counts(1:other)), other=0, ranks - 1)]
    call MPI_Gatherv(t(1:own), own, MPI_DOUBLE_PRECISION, whole, counts, places, MPI_DOUBLE_PRECISION, 0, &
                     MPI_COMM_WORLD, error)
    call MPI_Gatherv(through(1:own), own, MPI_DOUBLE_PRECISION, drawn, counts, places, MPI_DOUBLE_PRECISION, 0, &
                     MPI_COMM_WORLD, error)
    if (rank /= 0) return
    stored = sum(whole) * capacity * width
    open (newunit=unit, file='profile.txt', action='write')
    write (unit, '(a)') '# position_m rise_K flux_W_per_m2'
    do cell = 1, cells
      write (unit, '(3es25.16e3)') (cell - 0.5_dp) * width, whole(cell), drawn(cell)
    end do
    close (unit)
    write (*, '(a,es25.16e3,a)') 'surface temperature rise = ', whole(1), ' K'
    write (*, '(a,es25.16e3,a)') 'stored heat = ', stored, ' J/m^2'
    write (*, '(a,i0,a,i0,a)') 'HEAT: finished after ', steps, ' steps on ', ranks, ' ranks'
  end subroutine
end program
